// Loading and launching against the fake libcuda.so.1: every failure of every call, threads, devices, contexts,
// capture. The images are this test's own: it defines carried_images() and
// image_bytes() in place of those of the library.
#include "runtime/images/loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <latch>
#include <span>

#include "core/gpu/driver.hpp"
#include "fake_cuda/fake_cuda.hpp"
#include "fake_cuda/fresh_process.hpp"
#include "runtime/images/carried.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit {

namespace {

constexpr int kImages = 129, kSass = 96;  // the first 96 are SASS 8.9, the others PTX 8.0
constexpr int kClusters = 128;            // the last one, PTX 9.0, runs in clusters, and waits
constexpr int kSharedBytes = 81920, kSmallSharedBytes = 32768;

std::atomic<int> images_read{0};
std::atomic<bool> unreadable{false};
std::atomic<int> unpacking_ms{0};

/// Variants of no family: all that the loader takes of one.
KernelVariant variant_of(const char* name, int shared_bytes, int cluster) {
  return {.family = nullptr,
          .form = nullptr,
          .name = name,
          .type = "",
          .targets = {},
          .threads = 128,
          .shared_bytes = shared_bytes,
          .params_bytes = 0,
          .cluster = cluster};
}
const KernelVariant kBig = variant_of("big", kSharedBytes, 1), kSmall = variant_of("small", kSmallSharedBytes, 1),
                    kCluster = variant_of("clusters", kSmallSharedBytes, 2);

const std::vector<Image>& images() {
  static const std::vector<Image> made = [] {
    std::vector<Image> list;
    for (int i = 0; i < kImages; ++i) {
      const Target target = i < kSass ? Target{89, Target::Kind::kSass} : Target{80, Target::Kind::kPtx};
      list.push_back({.variant = i % 2 ? &kSmall : &kBig,
                      .target = target,
                      .registers = 128,
                      .local_bytes = 0,
                      .bytes = 1,
                      .entry = "kernel_" + std::to_string(i)});
    }
    list[kClusters].variant = &kCluster;
    list[kClusters].target.cc = 90;
    return list;
  }();
  return made;
}

}  // namespace

std::span<const Image> carried_images() { return images(); }

Result<std::vector<std::byte>> image_bytes(const Image& image) {
  ++images_read;
  std::this_thread::sleep_for(std::chrono::milliseconds(unpacking_ms));
  if (unreadable.exchange(false)) return fail(Code::kInternal, "the image cannot be unpacked");
  if (image.target.kind == Target::Kind::kSass) return fake_cuda::make_image(image.target.cc, image.entry);
  const std::string text = ".version 8.8\n.visible .entry " + image.entry;
  const auto* first = reinterpret_cast<const std::byte*>(text.c_str());
  return std::vector<std::byte>(first, first + text.size() + 1);
}

namespace {

using fake_cuda::Context;
using fake_cuda::expect_fresh;
using fake_cuda::fake;
using testing::HasSubstr;

constexpr int kDevice0 = fake_cuda::kFirstDeviceHandle, kDevice1 = kDevice0 + 1;

template <class Function>
Function driver_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), name));
}
void push(Context* context) {
  ASSERT_EQ(driver_function<int (*)(unsigned)>("cuInit")(0), 0);
  ASSERT_EQ(driver_function<int (*)(Context*)>("cuCtxPushCurrent_v2")(context), 0);
}
Context* pop() {
  Context* popped = nullptr;
  EXPECT_EQ(driver_function<int (*)(Context**)>("cuCtxPopCurrent_v2")(&popped), 0);
  return popped;
}
Context* current() {
  Context* c = nullptr;
  driver_function<int (*)(Context**)>("cuCtxGetCurrent")(&c);
  return c;
}
Context* make_context(int device) {
  auto* c = new Context{device, false};
  fake().contexts.insert(c);
  return c;
}

/// A kernel's argument.
struct Params {
  TensorMap map;
  const void* q;
  long long row;
  float scale;
};

Params some_params() { return {.map = {}, .q = reinterpret_cast<void*>(0x1000), .row = 64, .scale = 0.125f}; }

constexpr Grid kGrid{.x = 24};

/// One step.
Result<void> launch(const Image& image, int device, void* stream, const Grid& grid, const void* params) {
  const Step step{.image = &image, .grid = grid};
  return flashfit::launch({&step, 1}, {&params, 1}, device, stream);
}
Result<void> prepare(const Image& image, int device) {
  const Step step{.image = &image, .grid = kGrid};
  return flashfit::prepare({&step, 1}, device);
}

/// Two L4 and an H100. Each test takes images that no other has used,
/// so that the order of tests does not matter within a process.
class Loader : public testing::Test {
 protected:
  void SetUp() override {
    static const bool configured = [] {
      fake().gpus = {fake_cuda::make_gpu("NVIDIA L4", 89), fake_cuda::make_gpu("NVIDIA L4", 89),
                     fake_cuda::make_gpu("NVIDIA H100", 90)};
      fake().param_bytes = sizeof(Params);
      return true;
    }();
    ASSERT_TRUE(configured);
    fake().launches.clear();
  }
  void TearDown() override {
    EXPECT_THAT(fake().complaints, testing::IsEmpty());
    EXPECT_EQ(fake().pushed, 0);
    EXPECT_EQ(fake().relaxed, 0);
    fake().complaints.clear();
  }
  static const Image& fresh(bool big_shared = true, Target::Kind kind = Target::Kind::kSass) {
    static int used[2][2] = {};
    const int n = used[kind == Target::Kind::kPtx][big_shared]++;
    return images().at((kind == Target::Kind::kPtx ? kSass : 0) + 2 * n + (big_shared ? 0 : 1));
  }
};

TEST_F(Loader, LaunchesInThePrimaryContextWithTheArgumentCopied) {
  const Image& image = fresh();
  const Params params = some_params();
  ASSERT_TRUE(launch(image, 0, nullptr, {.x = 7}, &params));
  ASSERT_EQ(fake().launches.size(), 1u);
  const fake_cuda::Launch& l = fake().launches[0];
  EXPECT_EQ(l.entry, image.entry);
  EXPECT_EQ(l.device, kDevice0);
  EXPECT_TRUE(l.context->primary);
  EXPECT_EQ(l.stream, nullptr);
  EXPECT_EQ(l.grid, 7u);
  EXPECT_EQ(l.threads, 128u);
  EXPECT_EQ(l.shared, static_cast<unsigned>(kSharedBytes));
  EXPECT_THAT(l.params, testing::ElementsAreArray(std::as_bytes(std::span(&params, 1))));
  EXPECT_EQ(current(), nullptr);
}

TEST_F(Loader, UsesTheCallersContextAndStream) {
  Context* mine = make_context(kDevice0);
  fake_cuda::Stream stream{mine};
  fake().streams.insert(&stream);
  push(mine);
  const int pushes = fake().calls("cuCtxPushCurrent_v2"), retains = fake().calls("cuDevicePrimaryCtxRetain");
  const Params params = some_params();
  EXPECT_TRUE(launch(fresh(), 0, &stream, kGrid, &params));
  EXPECT_EQ(fake().launches.at(0).context, mine);
  EXPECT_EQ(fake().launches.at(0).stream, &stream);
  EXPECT_EQ(fake().calls("cuCtxPushCurrent_v2"), pushes);
  EXPECT_EQ(fake().calls("cuDevicePrimaryCtxRetain"), retains);
  EXPECT_EQ(pop(), mine);
}

TEST_F(Loader, ContextOfAnotherGpuStaysCurrent) {
  Context* mine = make_context(kDevice0);
  push(mine);
  const Params params = some_params();
  EXPECT_TRUE(launch(fresh(), 1, nullptr, kGrid, &params));
  EXPECT_EQ(fake().launches.at(0).device, kDevice1);
  EXPECT_TRUE(fake().launches.at(0).context->primary);
  EXPECT_EQ(current(), mine);
  EXPECT_FALSE(launch(fresh(), 2, nullptr, kGrid, &params));
  EXPECT_EQ(current(), mine);
  pop();
}

TEST_F(Loader, StreamBringsItsContext) {
  Context* mine = make_context(kDevice0);
  fake_cuda::Stream stream{mine};
  fake().streams.insert(&stream);
  const Params params = some_params();
  EXPECT_TRUE(launch(fresh(), 0, &stream, kGrid, &params));
  EXPECT_EQ(fake().launches.at(0).context, mine);
}

TEST_F(Loader, AStreamOfAnotherGpuIsRefusedWhicheverIsCurrent) {
  Context *here = make_context(kDevice0), *there = make_context(kDevice1);
  fake_cuda::Stream stream{there}, mine{here};
  fake().streams.insert({&stream, &mine});
  const Params params = some_params();
  const Image& image = fresh();
  for (Context* current_one : {static_cast<Context*>(nullptr), here, there}) {
    if (current_one) push(current_one);
    const Result<void> r = launch(image, 0, &stream, kGrid, &params);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, Code::kInvalidArgument);
    EXPECT_EQ(r.error().message, "stream: of GPU 1; accepted: a stream of GPU 0, where q is");
    EXPECT_TRUE(launch(image, 1, &stream, kGrid, &params));
    EXPECT_TRUE(launch(image, 0, &mine, kGrid, &params));
    EXPECT_EQ(current(), current_one);
    if (current_one) pop();
  }
  EXPECT_EQ(fake().launches.size(), 6u);
}

TEST_F(Loader, StreamThatIsNoneIsExplained) {
  int none = 0;
  const Params params = some_params();
  const Result<void> r = launch(fresh(), 0, &none, kGrid, &params);
  ASSERT_FALSE(r);
  EXPECT_THAT(
      r.error().message,
      testing::StartsWith("cuLaunchKernelEx: CUDA_ERROR_INVALID_HANDLE (invalid resource handle) for big (8.9) "));
  EXPECT_THAT(
      r.error().message,
      testing::EndsWith(
          "on GPU 0 (NVIDIA L4, 8.9, driver for CUDA 12.9); the stream is none of the driver's, or was destroyed"));
}

TEST_F(Loader, PrimaryContextIsRetainedAgainAfterAReset) {
  const Image& image = fresh();
  ASSERT_TRUE(prepare(image, 1));
  const int retained = fake().retained[kDevice1];
  const Params params = some_params();
  for (const char* call : {"cuLaunchKernelEx", "cuCtxPushCurrent_v2"}) {
    fake().fail(call, 709);
    const Result<void> r = launch(image, 1, nullptr, kGrid, &params);
    ASSERT_FALSE(r);
    EXPECT_THAT(r.error().message, HasSubstr("the context was destroyed (cudaDeviceReset"));
    EXPECT_TRUE(launch(image, 1, nullptr, kGrid, &params));
  }
  EXPECT_EQ(fake().retained[kDevice1], retained + 2);
}

TEST_F(Loader, LoadsOncePerProcessAndConfiguresOncePerGpu) {
  const Image& image = fresh();
  const Params params = some_params();
  const int loads = fake().calls("cuLibraryLoadData"), sets = fake().calls("cuKernelSetAttribute");
  for (int n = 0; n < 10; ++n)
    for (int device : {0, 1}) ASSERT_TRUE(launch(image, device, nullptr, kGrid, &params));
  EXPECT_EQ(fake().calls("cuLibraryLoadData"), loads + 1);
  EXPECT_EQ(fake().calls("cuKernelSetAttribute"), sets + 2);
  EXPECT_LE(fake().retained[kDevice0], 1);
  EXPECT_EQ(fake().launches.size(), 20u);
}

TEST_F(Loader, ALaunchAsksTheDriverTwiceWhereItsGpuIsCurrent) {
  const Image& image = fresh();
  const Params params = some_params();
  ASSERT_TRUE(prepare(image, 0));
  ASSERT_TRUE(prepare(image, 1));
  const auto calls_of_a_launch = [&](int device, fake_cuda::Stream* stream = nullptr) {
    const auto all = [] {
      int calls = 0;
      for (const fake_cuda::Function& function : fake().functions) calls += function.calls;
      return calls;
    };
    const int before = all();
    EXPECT_TRUE(launch(image, device, stream, kGrid, &params));
    return all() - before;
  };
  Context* mine = make_context(kDevice0);
  fake_cuda::Stream stream{mine};
  fake().streams.insert(&stream);
  push(mine);
  EXPECT_EQ(calls_of_a_launch(0, &stream), 4);  // whose the stream is: cuStreamGetCtx, cuCtxGetCurrent
  EXPECT_EQ(calls_of_a_launch(0), 2);           // cuCtxGetDevice, cuLaunchKernelEx
  EXPECT_EQ(calls_of_a_launch(1), 4);           // cuCtxPushCurrent and cuCtxPopCurrent around it
  pop();
  EXPECT_EQ(calls_of_a_launch(0), 5);  // cuCtxGetCurrent too
}

TEST_F(Loader, FewSharedBytesNeedNoAttribute) {
  const int sets = fake().calls("cuKernelSetAttribute");
  const Params params = some_params();
  EXPECT_TRUE(launch(fresh(false), 0, nullptr, kGrid, &params));
  EXPECT_EQ(fake().calls("cuKernelSetAttribute"), sets);
}

TEST_F(Loader, PtxIsHandedOverAsAString) {
  const Params params = some_params();
  EXPECT_TRUE(launch(fresh(true, Target::Kind::kPtx), 2, nullptr, kGrid, &params));
}

TEST_F(Loader, PrepareDoesAllButTheLaunch) {
  const Image& image = fresh();
  ASSERT_TRUE(prepare(image, 1));
  EXPECT_TRUE(fake().launches.empty());
  const int loads = fake().calls("cuLibraryLoadData"), sets = fake().calls("cuKernelSetAttribute");
  const Params params = some_params();
  EXPECT_TRUE(launch(image, 1, nullptr, kGrid, &params));
  EXPECT_EQ(fake().calls("cuLibraryLoadData"), loads);
  EXPECT_EQ(fake().calls("cuKernelSetAttribute"), sets);
}

TEST_F(Loader, FirstLaunchInACaptureDoesNotBreakIt) {
  fake().capturing = true;
  const Params params = some_params();
  EXPECT_TRUE(launch(fresh(), 0, nullptr, kGrid, &params));
  EXPECT_FALSE(fake().capture_broken);
  fake().capturing = false;
}

TEST_F(Loader, StepsAreLaunchedInOrderEachWithItsArgument) {
  const Image &first = fresh(), &second = fresh(), &none = fresh();
  Params params[3] = {some_params(), some_params(), some_params()};
  for (int i = 0; i < 3; ++i) params[i].row = i;
  const Step steps[] = {{.image = &first, .grid = {.x = 5, .y = 3, .z = 2}},
                        {.image = &none, .grid = {.x = 0}},
                        {.image = &second, .grid = {.x = 7}}};
  const void* const arguments[] = {&params[0], &params[1], &params[2]};
  ASSERT_TRUE(flashfit::launch(steps, arguments, 0, nullptr));
  ASSERT_EQ(fake().launches.size(), 2u);
  const fake_cuda::Launch &a = fake().launches[0], &b = fake().launches[1];
  EXPECT_EQ(a.entry, first.entry);
  EXPECT_EQ(b.entry, second.entry);
  EXPECT_THAT((std::vector{a.grid, a.grid_y, a.grid_z, b.grid, b.grid_y, b.grid_z}),
              testing::ElementsAre(5, 3, 2, 7, 1, 1));
  EXPECT_THAT(a.params, testing::ElementsAreArray(std::as_bytes(std::span(&params[0], 1))));
  EXPECT_THAT(b.params, testing::ElementsAreArray(std::as_bytes(std::span(&params[2], 1))));
  EXPECT_EQ(a.cluster, 1u);
  EXPECT_FALSE(a.dependent);
}

TEST_F(Loader, MemoryIsClearedRightBeforeTheStepThatAsksForIt) {
  const Image &first = fresh(), &second = fresh();
  const Params params = some_params();  // q is 0x1000
  const Step steps[] = {
      {.image = &first, .grid = kGrid},
      {.image = &second, .grid = kGrid, .cleared = {.words = 3, .address_at = int{offsetof(Params, q)}}}};
  const void* const arguments[] = {&params, &params};
  fake().cleared.clear();
  ASSERT_TRUE(flashfit::launch(steps, arguments, 0, nullptr));
  ASSERT_EQ(fake().cleared.size(), 1u);
  const fake_cuda::Cleared& c = fake().cleared[0];
  EXPECT_EQ(c.address, 0x1000u);
  EXPECT_EQ(c.value, 0u);
  EXPECT_EQ(c.words, 3u);
  EXPECT_EQ(c.before, 1u);
  fake().launches.clear();
  fake().fail("cuMemsetD32Async", 1);
  const Result<void> failed = flashfit::launch(steps, arguments, 0, nullptr);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, testing::StartsWith("cuMemsetD32Async: "));
  EXPECT_EQ(fake().launches.size(), 1u) << "the step must not run on memory that was not cleared";
}

TEST_F(Loader, NothingIsQueuedBeforeAllImagesAreReady) {
  const Image &first = fresh(), &second = fresh();
  const Params params = some_params();
  const Step steps[] = {{.image = &first, .grid = kGrid}, {.image = &second, .grid = kGrid}};
  const void* const arguments[] = {&params, &params};
  fake().fail("cuLibraryLoadData", 222);
  EXPECT_FALSE(flashfit::launch(steps, arguments, 0, nullptr));
  EXPECT_TRUE(fake().launches.empty());
  EXPECT_TRUE(flashfit::launch(steps, arguments, 0, nullptr));
  EXPECT_EQ(fake().launches.size(), 2u);
}

TEST_F(Loader, ADependentStepOfClustersWithATensorMap) {
  const Image &before = fresh(true, Target::Kind::kPtx), &clusters = images()[kClusters];
  Params params = some_params();
  const TensorMapSpec spec{.dtype = DType::kF16,
                           .rank = 2,
                           .base = reinterpret_cast<void*>(0x10000),
                           .dims = {640, 7},
                           .strides = {1280},
                           .box = {64, 4}};
  const Result<TensorMap> map = encode_tensor_map(spec);
  ASSERT_TRUE(map) << map.error().message;
  params.map = *map;
  const Step steps[] = {{.image = &before, .grid = kGrid}, {.image = &clusters, .grid = {.x = 4}}};
  const void* const arguments[] = {&params, &params};
  ASSERT_TRUE(flashfit::launch(steps, arguments, 2, nullptr));
  ASSERT_EQ(fake().launches.size(), 2u);
  const fake_cuda::Launch& l = fake().launches[1];
  EXPECT_EQ(l.cluster, 2u);
  EXPECT_TRUE(l.dependent);
  Params arrived;
  std::memcpy(&arrived, l.params.data(), sizeof arrived);
  EXPECT_THAT(std::vector<std::uint64_t>(arrived.map.opaque, arrived.map.opaque + 5),
              testing::ElementsAre(0x10000, 6, 2, 640, 7));
}

TEST_F(Loader, TensorMapsAreEncodedOnce) {
  const auto encoded = [&]() -> int { return fake().functions[fake_cuda::index_of("cuTensorMapEncodeTiled")].calls; };
  const TensorMapSpec spec{.dtype = DType::kBF16,
                           .rank = 4,
                           .base = reinterpret_cast<void*>(0x20000),
                           .dims = {64, 640, 7, 3},
                           .strides = {896, 128, 573440},
                           .box = {64, 128, 1, 1}};
  const auto words = [](const TensorMapSpec& of) {
    const Result<TensorMap> map = encode_tensor_map(of);
    EXPECT_TRUE(map) << map.error().message;
    return std::vector<std::uint64_t>(map->opaque, map->opaque + 16);
  };
  const std::vector<std::uint64_t> first = words(spec);
  int calls = encoded();
  EXPECT_EQ(words(spec), first);
  EXPECT_EQ(encoded(), calls);
  // Whatever differs, memory that begins in the same place included, is another map.
  std::vector<TensorMapSpec> others(9, spec);
  others[0].base = reinterpret_cast<void*>(0x20080);
  others[1].dims[1] = 641;
  others[2].strides[0] = 1024;
  others[3].box[1] = 64;
  others[4].dtype = DType::kF16;
  others[5].swizzle = SwizzleMode::k128B;
  others[6].l2 = L2Promotion::k256B;
  others[7].fill = OutOfBounds::kNaN;
  others[8].element_strides[1] = 2;
  for (const TensorMapSpec& other : others) {
    words(other);
    EXPECT_EQ(encoded(), ++calls);
  }
  // A refusal is not kept.
  TensorMapSpec refused = spec;
  refused.dims[2] = 8;
  fake().fail("cuTensorMapEncodeTiled", 1);
  EXPECT_FALSE(encode_tensor_map(refused));
  EXPECT_TRUE(encode_tensor_map(refused));
  // More tensors than are kept: each map is its own all the same.
  for (int round = 0; round < 2; ++round)
    for (std::uintptr_t i = 1; i <= 1000; ++i) {
      TensorMapSpec other = spec;
      other.base = reinterpret_cast<void*>(i << 20);
      EXPECT_EQ(words(other)[0], i << 20);
    }
}

TEST_F(Loader, GridZeroCallsNothing) {
  int before = 0, after = 0;
  for (const auto& f : fake().functions) before += f.calls;
  EXPECT_TRUE(launch(fresh(), 0, nullptr, {.x = 0}, nullptr));
  for (const auto& f : fake().functions) after += f.calls;
  EXPECT_EQ(before, after);
}

TEST_F(Loader, WrongNumbersAreNamed) {
  const Params params = some_params();
  const auto refused = [&](Grid grid, int device = 0, const Image& of = fresh()) {
    const Result<void> r = launch(of, device, nullptr, grid, &params);
    return r ? "worked" : r.error().code == Code::kInvalidArgument ? r.error().message : "another code";
  };
  EXPECT_EQ(refused({2147483648}), "grid.x 2147483648: a launch takes 0 to 2147483647 blocks");
  EXPECT_EQ(refused({-1}), "grid.x -1: a launch takes 0 to 2147483647 blocks");
  EXPECT_EQ(refused({1, 0}), "grid.y 0: a launch takes 1 to 65535");
  EXPECT_EQ(refused({1, 65536}), "grid.y 65536: a launch takes 1 to 65535");
  EXPECT_EQ(refused({1, 1, 0}), "grid.z 0: a launch takes 1 to 65535");
  EXPECT_EQ(refused({3}, 2, images()[kClusters]), "grid.x 3: clusters runs in clusters of 2 blocks");
  EXPECT_EQ(refused(kGrid, 3), "GPU 3: this process has 3 GPU(s), counted from 0");
  EXPECT_EQ(refused(kGrid, -1), "GPU -1: this process has 3 GPU(s), counted from 0");
  EXPECT_EQ(refused({2147483647, 65535, 65535}), "worked");
}

TEST_F(Loader, ImageThatIsNotCarriedIsRefused) {
  const Image copy = images()[0];
  const Result<void> r = prepare(copy, 0);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kInternal);
}

TEST_F(Loader, ImageForAnotherGpuIsExplainedAndUnloaded) {
  const Image& image = fresh();
  const std::size_t libraries = fake().libraries.size();
  const Params params = some_params();
  const Result<void> r = launch(image, 2, nullptr, kGrid, &params);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kCuda);
  EXPECT_EQ(r.error().message,
            "cuLibraryGetKernel: CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is available for execution on the "
            "device) for " +
                image.variant->name +
                " (8.9) on GPU 2 (NVIDIA H100, 9.0, driver for CUDA 12.9); this image has no code for this GPU");
  EXPECT_EQ(fake().libraries.size(), libraries);
  EXPECT_TRUE(launch(image, 0, nullptr, kGrid, &params));
  const Result<void> loaded = launch(image, 2, nullptr, kGrid, &params);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, testing::StartsWith("cuLaunchKernelEx: CUDA_ERROR_NO_BINARY_FOR_GPU"));
}

TEST_F(Loader, MeaningsOfWhatADriverRefuses) {
  const auto refused = [&](const char* call, int code) {
    fake().fail(call, code);
    const Result<void> r = prepare(fresh(true, Target::Kind::kPtx), 0);
    return r ? "worked" : r.error().message;
  };
  EXPECT_THAT(refused("cuLibraryLoadData", 200),
              HasSubstr("cannot read this image: it is damaged, or newer than the driver"));
  EXPECT_THAT(refused("cuLibraryLoadData", 222), HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  EXPECT_THAT(refused("cuLibraryLoadData", 222), HasSubstr("driver for CUDA 12.9); this PTX is newer than the driver"));
  EXPECT_THAT(refused("cuLibraryLoadData", 221), HasSubstr("libnvidia-ptxjitcompiler.so.1"));
  EXPECT_THAT(refused("cuKernelSetAttribute", 700), HasSubstr("an earlier kernel of this context failed"));
}

TEST_F(Loader, ImageThatCannotBeUnpackedIsTriedAgain) {
  const Image& image = fresh();
  unreadable = true;
  const Result<void> r = prepare(image, 0);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message, "the image cannot be unpacked");
  EXPECT_TRUE(prepare(image, 0));
}

TEST_F(Loader, ThreadsShareOneLoad) {
  std::vector<const Image*> shared;
  for (int i = 0; i < 4; ++i) shared.push_back(&fresh(i % 2 == 0));
  const int loads = fake().calls("cuLibraryLoadData"), sets = fake().calls("cuKernelSetAttribute"), read = images_read;
  const int retains = fake().calls("cuDevicePrimaryCtxRetain");
  unpacking_ms = 10;  // long enough that every thread comes for its first launch while the first one loads
  std::latch start(8);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const Params params = some_params();
      start.arrive_and_wait();
      for (int n = 0; n < 200; ++n) failures += !launch(*shared[n % 4], (n / 4 + t) % 2, nullptr, kGrid, &params);
    });
  for (std::thread& t : threads) t.join();
  unpacking_ms = 0;
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(fake().launches.size(), 1600u);
  EXPECT_EQ(fake().calls("cuLibraryLoadData"), loads + 4);
  EXPECT_EQ(images_read, read + 4);
  EXPECT_EQ(fake().calls("cuKernelSetAttribute"), sets + 4);         // two images need it, on two GPUs
  EXPECT_LE(fake().calls("cuDevicePrimaryCtxRetain"), retains + 2);  // one a GPU, if no test before this one did
}

/// Every call that a launch makes, each failing at its first, second, … occurrence,
/// in a process where nothing is loaded yet.
class EveryFailure : public Loader, public testing::WithParamInterface<const char*> {
 protected:
  /// Launches a fresh image with the n-th call of `call` failing; false once the launch makes fewer calls than that.
  bool inject(const std::string& call, int n) {
    const std::string shown = call.substr(0, call.rfind("_v2"));
    const Image& image = fresh();
    const Params params = some_params();
    const std::size_t libraries = fake().libraries.size(), launches = fake().launches.size();
    fake().fail(call, 700, n);
    const Result<void> failed = launch(image, 0, nullptr, kGrid, &params);
    const bool happened = fake()[call].fail_in == 0;
    fake().fail(call, 0, 0);
    EXPECT_EQ(failed.has_value(), !happened) << call << " " << n;
    if (!failed) {
      EXPECT_EQ(failed.error().code, call == "cuInit" ? Code::kNoGpu : Code::kCuda);
      EXPECT_THAT(
          failed.error().message,
          testing::StartsWith(shown + ": CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"));
    }
    EXPECT_EQ(fake().pushed, current() ? 1 : 0);
    EXPECT_LE(fake().libraries.size(), libraries + 1);
    const Result<void> again = launch(image, 0, nullptr, kGrid, &params);
    EXPECT_TRUE(again) << again.error().message;
    EXPECT_EQ(fake().libraries.size(), libraries + 1);
    EXPECT_EQ(fake().libraries.size(), fake().kernels.size());
    EXPECT_EQ(fake().launches.size(), launches + (happened && call != "cuCtxPopCurrent_v2" ? 1 : 2));
    EXPECT_THAT(fake().complaints, testing::IsEmpty());
    // A restored mode that could not be restored stays: only the driver could mend that.
    EXPECT_EQ(fake().relaxed, call == "cuThreadExchangeStreamCaptureMode" ? fake().relaxed.load() : 0);
    return happened;
  }
};

TEST_P(EveryFailure, IsNamedLeavesNothingAndPasses) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const bool other_context : {false, true})
    EXPECT_EXIT(
        {
          if (other_context) push(make_context(kDevice1));
          int n = 1;
          while (inject(GetParam(), n)) ++n;
          std::fprintf(stderr, "%s failures: %d", HasFailure() ? "wrong" : "right", n - 1);
          std::exit(HasFailure());
        },
        testing::ExitedWithCode(0),
        std::string(GetParam()) == "cuCtxGetCurrent" && other_context ? "right failures: 0" : "right failures: [1-9]");
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryFailure,
                         testing::Values("cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
                                         "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent", "cuCtxGetDevice",
                                         "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
                                         "cuThreadExchangeStreamCaptureMode", "cuLibraryLoadData", "cuLibraryGetKernel",
                                         "cuKernelSetAttribute", "cuLaunchKernelEx"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Loader, KernelThatIsNotFoundIsReportedEvenIfUnloadingFailsToo) {
  fake().fail("cuLibraryGetKernel", 500);
  fake().fail("cuLibraryUnload", 400);
  const Result<void> r = prepare(fresh(), 0);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, testing::StartsWith("cuLibraryGetKernel: CUDA_ERROR_NOT_FOUND"));
}

using LoaderDeathTest = Loader;

TEST(LoaderWithoutADriverDeathTest, SaysWhatIsMissing) {
  const auto try_both = [] {
    const Params params = some_params();
    const Result<void> a = prepare(images()[0], 0), b = launch(images()[0], 0, nullptr, kGrid, &params);
    return a || b ? "worked" : a.error().message + (a.error().message == b.error().message ? "" : " differs");
  };
  expect_fresh("damaged", try_both, "^no NVIDIA driver: dlopen: .*libcuda.so.1: [^:]*\n$");
  expect_fresh(
      "old",
      [&] {
        setenv("FAKE_CUDA_VERSION", "11080", 1);
        return try_both();
      },
      "^the NVIDIA driver is for CUDA 11.8: [^:]*\n$");
}

TEST(LoaderWithoutADriverDeathTest, DependentStepsAreForDriversThatCaptureThem) {
  const auto both = [](const char* driver) {
    setenv("FAKE_CUDA_VERSION", driver, 1);
    setenv("FAKE_CUDA_GPUS", "NVIDIA H100:90", 1);
    const Image &before = images()[kSass], &after = images()[kClusters];
    const Params params = some_params();
    const Step steps[] = {{.image = &before, .grid = kGrid}, {.image = &after, .grid = {.x = 4}}};
    const void* const arguments[] = {&params, &params};
    std::string said;
    for (const bool capturing : {false, true}) {
      fake().capturing = capturing;
      const Result<void> r = flashfit::launch(steps, arguments, 0, nullptr);
      said += !r ? r.error().message : fake().launches.back().dependent ? "dependent " : "plain ";
    }
    return said;
  };
  expect_fresh("whole", [&] { return both("12020"); }, "^plain plain \n$");
  expect_fresh("whole", [&] { return both("12030"); }, "^dependent dependent \n$");
}

TEST_F(LoaderDeathTest, ForkIsToldAndDoesNotHang) {
  expect_fresh(
      "whole",
      [] {
        const Params params = some_params();
        if (!launch(images()[0], 0, nullptr, kGrid, &params)) return std::string("the parent cannot launch");
        const pid_t child = fork();
        if (child == 0) {
          const Result<void> r = launch(images()[0], 0, nullptr, kGrid, &params);
          _exit(!r && r.error().message.find("forked from one that had used CUDA") != std::string::npos ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        const bool told = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        return std::string(told && launch(images()[0], 0, nullptr, kGrid, &params) ? "told" : "not told");
      },
      "^told");
}

}  // namespace
}  // namespace flashfit
