#pragma once
// The hand-made kernels of what Hopper adds (tests/emu/hopper), for images.
#include "bulk_reduce.cuh"
#include "bulk_store.cuh"
#include "dependent.cuh"
#include "exchange.cuh"
#include "fragment_kernels.cuh"
#include "multicast.cuh"
#include "ping_pong.cuh"
#include "pipeline.cuh"
#include "product_kernels.cuh"
#include "roles.cuh"
#include "tensor_copy_kernels.cuh"
