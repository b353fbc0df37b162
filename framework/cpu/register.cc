#include "kusari/framework/cpu/register.h"

#include <cstring>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/kernels/exchange.h"

namespace kusari {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend() {
    cpu::register_backend_info(*this);
    cpu::register_basic(*this);
    cpu::register_pointwise(*this);
    cpu::register_fused_pointwise(*this);
    cpu::register_reduction(*this);
    cpu::register_arg_reduction(*this);
    cpu::register_softmax(*this);
    cpu::register_scan(*this);
    cpu::register_attention(*this);
    cpu::register_rotary_embedding(*this);
    cpu::register_squeeze_excitation(*this);
    cpu::register_recurrent(*this);
    cpu::register_symmetric_eigen(*this);
    cpu::register_linear_algebra(*this);
    cpu::register_decompositions(*this);
    cpu::register_ordering(*this);
    cpu::register_fft(*this);
    cpu::register_random(*this);
    cpu::register_rejection_sampling(*this);
    cpu::register_matmul(*this);
    cpu::register_convolution(*this);
    cpu::register_quantized_add(*this);
    cpu::register_quantized_convolution(*this);
    cpu::register_rows(*this);
    cpu::register_row_products(*this);
    cpu::register_optimizer(*this);
    cpu::register_sum_rows(*this);
    register_exchange(*this);
    cpu::register_summary(*this);
    cpu::register_value_statistics(*this);
    cpu::register_batch_normalization(*this);
    cpu::register_normalization(*this);
    cpu::register_sampling(*this);
    cpu::register_pooling(*this);
    cpu::register_roi(*this);
    cpu::register_image_batch(*this);
    cpu::register_image_resampling(*this);
    cpu::register_connectionist_temporal_classification(*this);
    cpu::register_hard_negatives(*this);
    cpu::register_sigmoid_focal_loss(*this);
    cpu::register_normalized_fusion(*this);
  }

  const char* name() const override { return "cpu"; }
  int device_count() const override { return 1; }

  void* allocate(int, size_t bytes) override { return memory::allocate(bytes); }
  void deallocate(int, void* data, size_t bytes) noexcept override { memory::deallocate(data, bytes); }

  void copy_to_host(int, void* host, const void* data, size_t bytes) override { std::memcpy(host, data, bytes); }
  void copy_from_host(int, void* data, const void* host, size_t bytes) override { std::memcpy(data, host, bytes); }
  void copy_within(int, void* to, const void* from, size_t bytes) override { std::memmove(to, from, bytes); }
  void synchronize(int) override {}
};

}  // namespace

Backend& detail::cpu_backend() {
  static CpuBackend* const backend = new CpuBackend;  // never destroyed: arrays may outlive every static
  return *backend;
}

}  // namespace kusari
