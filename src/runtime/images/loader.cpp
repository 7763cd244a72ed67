#include "runtime/images/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "core/gpu/device.hpp"
#include "core/gpu/driver.hpp"
#include "core/gpu/driver_versions.hpp"
#include "core/gpu/limits.hpp"
#include "core/launch/launch.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit {
namespace {

constexpr cu::Status kInvalidContext = 201, kContextDestroyed = 709;

/// What a refusal means to who asked for a launch. Statuses from `first` to `last`; the first entry that fits counts.
struct Meaning {
  cu::Status first, last;
  const char* text;
};
constexpr const char* kEarlierKernel =
    "an earlier kernel of this context failed, which shows only now: the context can no longer be used";
constexpr Meaning kMeanings[] = {
    {200, 200, "the driver cannot read this image: it is damaged, or newer than the driver"},
    {kInvalidContext, kInvalidContext, "the context was destroyed (cudaDeviceReset or cuDevicePrimaryCtxReset)"},
    {209, 209, "this image has no code for this GPU"},
    {218, 218, "the driver cannot compile this PTX"},
    {221, 221, "the driver's PTX compiler (libnvidia-ptxjitcompiler.so.1) is missing: it is part of the driver"},
    {222, 222, "this PTX is newer than the driver: a newer driver compiles it"},
    {400, 400, "the stream is none of the driver's, or was destroyed"},
    {700, 700, kEarlierKernel},
    {702, 702, kEarlierKernel},
    {kContextDestroyed, kContextDestroyed, "the context was destroyed (cudaDeviceReset or cuDevicePrimaryCtxReset)"},
    {710, 719, kEarlierKernel},
};

std::string meaning(cu::Status status) {
  for (const Meaning& m : kMeanings)
    if (m.first <= status && status <= m.last) return std::string("; ") + m.text;
  return "";
}

/// One image on its way to one GPU: what every error of the driver is reported with.
struct Errand {
  const Driver& driver;
  const Image& image;
  int device;
  bool context_gone = false;

  Result<void> operator()(const char* call, cu::Status status) {
    if (!status) return {};
    context_gone |= status == kInvalidContext || status == kContextDestroyed;
    const Result<Gpu> gpu = live_gpu(device);
    const std::string what = gpu ? fmt::format("{}, {}, ", gpu->name, gpu->cc.str()) : "";
    return fail(Code::kCuda, fmt::format("{} for {} ({}) on GPU {} ({}driver for CUDA {}){}",
                                         describe(driver, call, status), image.variant->name, image.target.str(),
                                         device, what, str(driver.version), meaning(status)));
  }
};

/// Undoes what a call did to its thread where an exception (host memory) ends the call before it does so itself.
template <class Undo>
class Otherwise {
 public:
  explicit Otherwise(Undo undo) : undo_(std::move(undo)) {}
  Otherwise(const Otherwise&) = delete;
  Otherwise& operator=(const Otherwise&) = delete;
  ~Otherwise() {
    if (needed_) undo_();
  }
  void done() { needed_ = false; }

 private:
  Undo undo_;
  bool needed_ = true;
};

/// Lets `body` allocate although a stream of this thread, or any under the global mode, is being captured: what it does
/// is set-up that a replay must not repeat. CUDA Driver API, cuThreadExchangeStreamCaptureMode.
template <class Body>
Result<void> outside_capture(Errand& errand, Body body) {
  int mode = cu::kCaptureRelaxed;
  if (Result<void> r =
          errand("cuThreadExchangeStreamCaptureMode", errand.driver.cuThreadExchangeStreamCaptureMode(&mode));
      !r)
    return r;
  Otherwise restore([&] { errand.driver.cuThreadExchangeStreamCaptureMode(&mode); });
  const Result<void> done = body();
  restore.done();
  const Result<void> restored =
      errand("cuThreadExchangeStreamCaptureMode", errand.driver.cuThreadExchangeStreamCaptureMode(&mode));
  return done ? restored : done;
}

struct ImageState {
  std::mutex setup;  ///< held while this image is loaded or configured, so that other images need not wait
  std::atomic<cu::Kernel> kernel{nullptr};
};

struct DeviceState {
  cu::Device handle = 0;
  std::mutex setup;
  std::atomic<cu::Context> primary{nullptr};
};

class Loader {
 public:
  Loader(const Driver& d, const std::vector<cu::Device>& handles)
      : driver_(d),
        images_(carried_images().size()),
        devices_(handles.size()),
        ready_(images_.size() * handles.size()) {
    for (std::size_t i = 0; i < handles.size(); ++i) devices_[i].handle = handles[i];
  }

  /// A kernel runs where its stream is, whatever is current: on another GPU it would read memory that is not mapped
  /// there and break that GPU's context for good. Call it where a context of `device` is current. What the driver does
  /// not tell is left to the launch.
  Result<void> check_stream(int device, cu::Stream stream) {
    if (devices_.size() < 2 || !driver_.cuStreamGetCtx ||
        reinterpret_cast<std::uintptr_t>(stream) <= cu::kPerThreadStream)
      return {};
    cu::Context its = nullptr, current = nullptr;
    if (driver_.cuStreamGetCtx(stream, &its) || driver_.cuCtxGetCurrent(&current) || its == current) return {};
    if (driver_.cuCtxPushCurrent(its)) return {};
    cu::Device of = 0;
    const cu::Status asked = driver_.cuCtxGetDevice(&of);
    driver_.cuCtxPopCurrent(&its);
    if (asked || of == devices_[static_cast<std::size_t>(device)].handle) return {};
    const auto found =
        std::find_if(devices_.begin(), devices_.end(), [&](const DeviceState& d) { return d.handle == of; });
    return fail(Code::kInvalidArgument, fmt::format("stream: of GPU {}; accepted: a stream of GPU {}, where q is",
                                                    found - devices_.begin(), device));
  }

  /// Whether a launch of it would load nothing.
  bool is_ready(const Image& image, int device) const {
    const auto index = static_cast<std::size_t>(&image - carried_images().data());
    return index < images_.size() && device >= 0 && static_cast<std::size_t>(device) < devices_.size() &&
           ready_[index * devices_.size() + static_cast<std::size_t>(device)].load(std::memory_order_acquire);
  }

  /// Makes the image ready in a context of the device, then runs `body` in it with the kernel.
  template <class Body>
  Result<void> with(const Image& image, int device, Body body) {
    const auto index = static_cast<std::size_t>(&image - carried_images().data());
    if (index >= images_.size())
      return fail(Code::kInternal, fmt::format("image {} is not one of carried_images()", image.entry));
    if (device < 0 || static_cast<std::size_t>(device) >= devices_.size())
      return fail(Code::kInvalidArgument,
                  fmt::format("GPU {}: this process has {} GPU(s), counted from 0", device, devices_.size()));
    Errand errand{driver_, image, device};
    DeviceState& state = devices_[static_cast<std::size_t>(device)];
    bool pushed = false;
    if (Result<void> r = enter(errand, state, pushed); !r) return r;
    cu::Context popped = nullptr;
    Otherwise leave([&] {
      if (pushed) driver_.cuCtxPopCurrent(&popped);
    });
    Result<void> done = make_ready(errand, index);
    if (done) done = body(errand, images_[index].kernel.load(std::memory_order_acquire));
    leave.done();
    if (!pushed) return done;
    const Result<void> left = errand("cuCtxPopCurrent", driver_.cuCtxPopCurrent(&popped));
    // After a reset the primary context must be retained again before it lives again.
    if (errand.context_gone) state.primary.store(nullptr, std::memory_order_release);
    return done ? left : done;
  }

 private:
  Result<void> enter(Errand& errand, DeviceState& state, bool& pushed) {
    cu::Device of = 0;
    const cu::Status asked = driver_.cuCtxGetDevice(&of);
    if (!asked && of == state.handle) return {};
    if (asked) {  // mostly because no context is current, which is no error
      cu::Context current = nullptr;
      if (Result<void> r = errand("cuCtxGetCurrent", driver_.cuCtxGetCurrent(&current)); !r) return r;
      if (current || asked != kInvalidContext) return errand("cuCtxGetDevice", asked);
    }
    cu::Context primary = state.primary.load(std::memory_order_acquire);
    if (!primary) {
      const std::lock_guard lock(state.setup);
      primary = state.primary.load(std::memory_order_relaxed);
      if (!primary) {
        const Result<void> retained = outside_capture(errand, [&] {
          return errand("cuDevicePrimaryCtxRetain", driver_.cuDevicePrimaryCtxRetain(&primary, state.handle));
        });
        if (primary) state.primary.store(primary, std::memory_order_release);
        if (!retained) return retained;
      }
    }
    const cu::Status status = driver_.cuCtxPushCurrent(primary);
    pushed = status == 0;
    Result<void> entered = errand("cuCtxPushCurrent", status);
    if (errand.context_gone) state.primary.store(nullptr, std::memory_order_release);
    return entered;
  }

  Result<void> make_ready(Errand& errand, std::size_t index) {
    std::atomic<bool>& ready = ready_[index * devices_.size() + errand.device];
    if (ready.load(std::memory_order_acquire)) return {};
    ImageState& state = images_[index];
    const std::lock_guard lock(state.setup);
    if (ready.load(std::memory_order_relaxed)) return {};
    const Result<void> done = outside_capture(errand, [&]() -> Result<void> {
      if (!state.kernel.load(std::memory_order_relaxed))
        if (Result<void> r = load(errand, state); !r) return r;
      if (errand.image.variant->shared_bytes <= kStaticSharedBytes) return {};
      return errand(
          "cuKernelSetAttribute",
          driver_.cuKernelSetAttribute(cu::kMaxDynamicSharedBytes, errand.image.variant->shared_bytes,
                                       state.kernel.load(std::memory_order_relaxed), devices_[errand.device].handle));
    });
    if (done) ready.store(true, std::memory_order_release);
    return done;
  }

  Result<void> load(Errand& errand, ImageState& state) {
    Result<std::vector<std::byte>> bytes = image_bytes(errand.image);
    if (!bytes) return tl::unexpected(bytes.error());
    cu::Library library = nullptr;
    if (Result<void> r = errand("cuLibraryLoadData", driver_.cuLibraryLoadData(&library, bytes->data(), nullptr,
                                                                               nullptr, 0, nullptr, nullptr, 0));
        !r)
      return r;
    cu::Kernel kernel = nullptr;
    // Unloaded before the words are put together: those take memory, which may have run out.
    if (const cu::Status s = driver_.cuLibraryGetKernel(&kernel, library, errand.image.entry.c_str())) {
      driver_.cuLibraryUnload(library);
      return errand("cuLibraryGetKernel", s);
    }
    state.kernel.store(kernel, std::memory_order_release);
    return {};
  }

  const Driver& driver_;
  std::vector<ImageState> images_;
  std::vector<DeviceState> devices_;
  std::vector<std::atomic<bool>> ready_;  ///< images x devices: loaded, and allowed its shared memory
};

/// The one loader of the process, made by the first call that finds a usable driver.
Result<Loader*> loader() {
  const Result<const Driver*> d = loading_driver();
  if (!d) return tl::unexpected(d.error());
  static std::atomic<Loader*> made{nullptr};
  if (Loader* l = made.load(std::memory_order_acquire)) return l;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (Loader* l = made.load(std::memory_order_acquire)) return l;
  int count = 0;
  if (const cu::Status s = (*d)->cuDeviceGetCount(&count))
    return fail(Code::kCuda, describe(**d, "cuDeviceGetCount", s));
  std::vector<cu::Device> handles(count);
  for (int i = 0; i < count; ++i)
    if (const cu::Status s = (*d)->cuDeviceGet(&handles[i], i))
      return fail(Code::kCuda, describe(**d, "cuDeviceGet", s));
  Loader* l = new Loader(**d, handles);  // never freed: the driver may be gone when a static destructor would run
  made.store(l, std::memory_order_release);
  return l;
}

}  // namespace

namespace {

/// The steps that launch something.
bool launches(const Step& step) { return step.grid.x != 0; }

Result<void> check(const Step& step) {
  const Grid& g = step.grid;
  if (g.x < 0 || g.x > std::numeric_limits<int>::max())
    return fail(Code::kInvalidArgument, fmt::format("grid.x {}: a launch takes 0 to 2147483647 blocks", g.x));
  for (const auto& [name, value] : {std::pair{"y", g.y}, {"z", g.z}})
    if (value < 1 || value > 65535)
      return fail(Code::kInvalidArgument, fmt::format("grid.{} {}: a launch takes 1 to 65535", name, value));
  const KernelVariant& variant = *step.image->variant;
  if (variant.cluster > 1 && g.x % variant.cluster != 0)
    return fail(Code::kInvalidArgument,
                fmt::format("grid.x {}: {} runs in clusters of {} blocks", g.x, variant.name, variant.cluster));
  return {};
}

/// The first driver that captures programmatic dependent launches in graphs (CUDA 12.3). An older one is given plain
/// launches, in and out of a capture: a dependent one that begins when the step before it has ended is right too.
constexpr CudaVersion kDriverOfDependentGraphs = 12030;

LaunchShape shape_of(const Step& step, CudaVersion driver, void* stream) {
  const KernelVariant& variant = *step.image->variant;
  return {.grid_x = static_cast<unsigned>(step.grid.x),
          .grid_y = static_cast<unsigned>(step.grid.y),
          .grid_z = static_cast<unsigned>(step.grid.z),
          .threads = static_cast<unsigned>(variant.threads),
          .shared_bytes = static_cast<unsigned>(variant.shared_bytes),
          .cluster = static_cast<unsigned>(variant.cluster),
          .dependent = step.dependent() && driver >= kDriverOfDependentGraphs,
          .stream = static_cast<cu::Stream>(stream)};
}

Result<void> nothing(Errand&, cu::Kernel) { return {}; }

}  // namespace

Result<void> prepare(std::span<const Step> steps, int device) {
  const Result<Loader*> l = loader();
  if (!l) return tl::unexpected(l.error());
  for (const Step& step : steps)
    if (Result<void> r = (*l)->with(*step.image, device, nothing); !r) return r;
  return {};
}

Result<void> launch(std::span<const Step> steps, std::span<const void* const> params, int device, void* stream) {
  for (const Step& step : steps)
    if (Result<void> r = check(step); !r) return r;
  if (std::ranges::none_of(steps, launches)) return {};
  const Result<Loader*> l = loader();
  if (!l) return tl::unexpected(l.error());
  // What can fail for long, loading, comes before anything is queued. The first step's is part of its launch.
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (!launches(steps[i]) || (*l)->is_ready(*steps[i].image, device)) continue;
    if (Result<void> r = (*l)->with(*steps[i].image, device, nothing); !r) return r;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!launches(steps[i])) continue;
    Result<void> r = (*l)->with(*steps[i].image, device, [&](Errand& errand, cu::Kernel kernel) -> Result<void> {
      if (Result<void> ok = (*l)->check_stream(device, static_cast<cu::Stream>(stream)); !ok) return ok;
      if (const Step::Cleared& c = steps[i].cleared; c.words != 0) {
        const auto address = reinterpret_cast<std::uintptr_t>(c.in(params[i]));
        if (Result<void> ok = errand("cuMemsetD32Async", errand.driver.cuMemsetD32Async(
                                                             address, 0, c.words, static_cast<cu::Stream>(stream)));
            !ok)
          return ok;
      }
      return errand("cuLaunchKernelEx",
                    launch_kernel(errand.driver, kernel, shape_of(steps[i], errand.driver.version, stream), params[i]));
    });
    if (!r) return r;
  }
  return {};
}

}  // namespace flashfit
