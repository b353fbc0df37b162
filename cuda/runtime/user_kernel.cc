#include "kusari/cuda/runtime/user_kernel.h"

#include <mutex>

#include "kusari/cuda/runtime/graph.h"
#include "kusari/cuda/runtime/nvrtc.h"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

using kernels::UserLaunch;
using kernels::UserSource;

void* load(const Context& context, const UserSource& source) {
  StreamCapture::refuse_first_use("the compilation of kernel '" + source.name + "'");
  static std::mutex* const mutex = new std::mutex;
  const std::scoped_lock lock(*mutex);
  std::atomic<void*>& compiled = source.compiled[context.index()];
  if (void* const present = compiled.load()) return present;
  const std::string code = compile_cached(source.name, source.code, source.compiler,
                                          architecture_for(context.facts().major, context.facts().minor));
  cudaLibrary_t library = nullptr;
  KUSARI_CUDA_CHECK(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t kernel = nullptr;
  KUSARI_CUDA_CHECK(cudaLibraryGetKernel(&kernel, library, source.name.c_str()));
  compiled = kernel;
  return kernel;
}

void user_kernel(Params<UserLaunch> launch, InList inputs, InOutList outputs) {
  const std::span<const Array> in = inputs.arrays(), out = outputs.arrays();
  Context& context = Context::of(in.empty() ? out[0] : in[0]);
  void* const kernel = loaded_kernel(context, *launch->source);

  void* addresses[UserLaunch::kMaxParameters];
  void* parameters[UserLaunch::kMaxParameters];
  for (int i = 0; i < launch->parameters; ++i) {
    const UserLaunch::Parameter& parameter = launch->parameter[i];
    if (parameter.array < 0) {
      parameters[i] = const_cast<unsigned char*>(launch->bytes + parameter.offset);
      continue;
    }
    const auto index = static_cast<size_t>(parameter.array);
    addresses[i] = (index < in.size() ? in[index] : out[index - in.size()]).raw_data();
    parameters[i] = &addresses[i];
  }
  if (launch->shared > static_cast<unsigned>(context.facts().shared_per_block)) [[unlikely]] {
    const RelaxedCapture relaxed;  // it loads the kernel
    KUSARI_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch->shared)));
  }
  if (context.is_capturing()) [[unlikely]]
    load_for_capture(kernel);
  const dim3 grid(launch->grid[0], launch->grid[1], launch->grid[2]);
  const dim3 block(launch->block[0], launch->block[1], launch->block[2]);
  KUSARI_CUDA_CHECK(cudaLaunchKernel(kernel, grid, block, parameters, launch->shared, context.stream()));
}

}  // namespace

void* loaded_kernel(const Context& context, const UserSource& source) {
  void* const kernel = source.compiled[context.index()].load(std::memory_order_acquire);
  return kernel != nullptr ? kernel : load(context, source);
}

void register_user_kernel(Backend& backend) { backend.add<kernels::UserKernel>(user_kernel); }

}  // namespace kusari::cuda
