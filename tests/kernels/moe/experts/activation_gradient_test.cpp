// Activations' gradients under the emulator, against fp64.
#include <gtest/gtest.h>

#include "kernels/moe/experts/gradient/plan.hpp"
#include "kernels/moe/experts/gradient_data.hpp"

namespace flashfit::testing {
namespace {

TEST(ActivationGradients, AreRight) {
  for (const emulated::EmulatedKernel& kernel : emulated::emulated_activation_gradients())
    EXPECT_EQ(first_defect_of_gradients(kernel), "") << kernel.variant.name;
}

TEST(ActivationGradients, WithoutRowsNothingIsLaunched) {
  const Image image{};
  EXPECT_EQ(activation_gradient_steps(image, {.z = nullptr,
                                              .dh = nullptr,
                                              .choices = nullptr,
                                              .weights = nullptr,
                                              .dz = nullptr,
                                              .h = nullptr,
                                              .dweights = nullptr,
                                              .rows = 0,
                                              .features = 8,
                                              .activation = Activation::kSilu,
                                              .interleaved = 0,
                                              .alpha = 1,
                                              .limit = 1,
                                              .shift = 0})
                .size(),
            0u);
}

}  // namespace
}  // namespace flashfit::testing
