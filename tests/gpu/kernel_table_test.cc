#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/kernel_table.h"
#include "kusari/framework/kernels/image_resampling_kernels.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

// Those of `one` that `other` lacks, both sorted.
std::vector<std::string> missing(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  std::vector<std::string> names;
  std::set_difference(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(names));
  return names;
}

// What a CUDA device lacks: pictures are read on the host. A kernel that is added to the CPU alone is noticed here.
const std::vector<std::string> kLacking = {"resample_image"};

TEST_CASE("kernel table: a CUDA device has every kernel of the CPU but those that are listed") {
  const auto device = gpu_device();
  if (!device) return;
  const std::vector<std::string> cpu = kernel_names(Device().backend()), cuda = kernel_names(device->backend());
  CHECK(cpu.size() > 200);
  CHECK(missing(cpu, cuda) == kLacking);
  // And the CPU has all but these.
  CHECK(missing(cuda, cpu) ==
        std::vector<std::string>{"batch_normalization_fused_forward", "batch_normalization_masked_backward",
                                 "convolution_data_grad_added", "convolution_forward_with_sums", "device_memory",
                                 "make_device_group", "new_device_group_id", "normalized_convolution_backward",
                                 "normalized_convolution_forward", "normalized_convolution_plans", "user_kernel"});
}

TEST_CASE("kernel table: what a device lacks is named, and where it is") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = ones({3, 4, 4}, Dtype::float32, *device);
  CHECK_THROWS_WITH_AS(launch<kernels::ResampleImage>(*device, Interpolation::bilinear, x, x),
                       "launch: the backend 'cuda' of device 'cuda:0' has no kernel 'resample_image'; the CPU has it: "
                       "call the function with arrays that to_device(Device()) has moved there, and move the result "
                       "back",
                       DeviceError);
}

}  // namespace
}  // namespace kusari::testing
