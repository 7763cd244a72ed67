#!/usr/bin/env bash
# Packs SonicMoE for a machine without network (CPython 3.12, x86-64 Linux, PyTorch 2.11 with its Triton), as
# FOLDER/sonic.txz in parts of 45 MB: two, 57 MB in all, 290 MB unpacked. SonicMoE's own requirement of PyTorch 2.9 at
# most is passed over; QuACK is the newest that goes with the version of CUTLASS's DSL that SonicMoE asks for.
# usage: bench/sonic_moe.sh FOLDER
# there:  cat FOLDER/sonic.txz.* | tar -xJ -C DIR; export PYTHONPATH=DIR:DIR/nvidia_cutlass_dsl/python_packages
#         export QUACK_CACHE_DIR=CACHE     # what it compiles and how its tiles did, for the next run: minutes the first
#         python -m flashfit.bench --group sonic
set -euo pipefail
out=${1:?usage: bench/sonic_moe.sh FOLDER}
packages=(sonic-moe==0.1.2.post1 quack-kernels==0.4.1 nvidia-cutlass-dsl==4.4.2 nvidia-cutlass-dsl-libs-base==4.4.2
  apache-tvm-ffi==0.1.15.post2 torch-c-dlpack-ext==0.1.5 einops==0.8.2 cuda-bindings==13.0.3 cuda-pathfinder==1.9.1)
platforms=()
for glibc in 2_28 2_27 2_24 2_17; do platforms+=(--platform "manylinux_${glibc}_x86_64"); done
mkdir -p "$out"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python3 -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp "${platforms[@]}" \
  -d "$tmp/wheels" "${packages[@]}"
mkdir "$tmp/site"
for wheel in "$tmp"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$tmp/site"; done
# What Cython's modules were made from.
find "$tmp/site/cuda" "$tmp/site/tvm_ffi" \( -name '*.pyx' -o -name '*.pxd' -o -name '*.cpp' \) -delete
tar -C "$tmp/site" -cf - . | xz -T0 -9 | split -b 45000000 - "$out/sonic.txz."
ls -l "$out"
