#include "runtime/api/features.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "kernels/attention/forward/variants.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {
namespace {

/// Of the API and of the CPU backend, which takes every dtype.
constexpr const char* kAlways[] = {
    "attention.forward",
    "attention.forward.alibi",
    "attention.forward.batch_invariant",
    "attention.forward.bias",
    "attention.forward.causal",
    "attention.forward.gqa",
    "attention.forward.head_dim_v",
    "attention.forward.lse",
    "attention.forward.seqused_k",
    "attention.forward.sinks",
    "attention.forward.softcap",
    "attention.forward.strided",
    "attention.forward.varlen",
    "attention.forward.window",
    "attention.prepare",
    "attention.run",
    "attention.workspace",
    "cpu.bf16",
    "cpu.fp16",
    "cpu.fp32",
    "env.disable",
    "env.log",
    "explain",
    "explain.tile",
    "moe.activation.backward",
    "moe.layer",
    "moe.layer.backward",
    "moe.layer.explain",
    "moe.layer.grouped",
    "moe.layer.keep",
    "moe.layer.map",
    "moe.layer.part",
    "moe.layer.prepare",
    "moe.layer.run",
    "moe.layer.shared",
    "moe.layer.workspace",
    "moe.product",
    "moe.route",
    "moe.route.bias",
    "moe.route.explain",
    "moe.route.groups",
    "moe.route.prepare",
    "moe.route.renormalize",
    "moe.route.scale",
    "moe.route.sigmoid",
    "moe.route.sqrt_softplus",
    "moe.route.topk_first",
    "moe.rows",
    "moe.weights",
};

struct Features {
  std::set<std::string> names{std::begin(kAlways), std::end(kAlways)};
  std::vector<const char*> list;

  Features() {
    for (const Image& image : images_of(kForwardOperation, carried_images())) {
      const ForwardConfig& c = forward_variant_of(*image.variant).config;
      names.insert(
          {"gpu", fmt::format("gpu.{}", name_of(c.dtype)), fmt::format("gpu.{}.d{}", name_of(c.dtype), c.head_dim)});
    }
    for (const std::string& name : names) list.push_back(name.c_str());
    list.push_back(nullptr);
  }
};

}  // namespace

const char* const* features() {
  static const Features& once = *new Features;
  return once.list.data();
}

}  // namespace flashfit::api
