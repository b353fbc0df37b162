#include "kusari/framework/cpu/onednn.h"

#if defined(KUSARI_WITH_ONEDNN)

#include <omp.h>
#include <sys/mman.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/thread_owned.h"

namespace kusari::cpu {

namespace {

// $KUSARI_CPU_ISA is oneDNN's limit as well, unless that has one of its own. Without AVX2 it may still use SSE4.1, the
// least that it knows. It refuses when the program has used it already.
void limit_onednn() {
#if defined(__x86_64__)
  const std::optional<std::string> isa = environment::choice("KUSARI_CPU_ISA");
  if (!isa || std::getenv("DNNL_MAX_CPU_ISA") != nullptr || std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) return;
  dnnl_set_max_cpu_isa(*isa == "v1"   ? dnnl_cpu_isa_sse41
                       : *isa == "v3" ? dnnl_cpu_isa_avx2
                       : *isa == "v4" ? dnnl_cpu_isa_avx512_core
                                      : dnnl_cpu_isa_avx512_core_bf16);
#endif
}

struct Engine : dnnl::engine {
  Engine() : dnnl::engine((limit_onednn(), dnnl::engine::kind::cpu), 0) {}
};

constinit Lazy<Engine> engine;  // never destroyed: threads that outlive main may still hold primitives

}  // namespace

const dnnl::engine& onednn_engine() { return *engine; }

const dnnl::stream& onednn_stream() {
  struct Stream : dnnl::stream {
    Stream() : dnnl::stream(onednn_engine()) {}
  };
  static constinit thread_local Stream* stream = nullptr;
  return kusari::detail::thread_owned(stream);
}

dnnl::memory::data_type onednn_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return dnnl::memory::data_type::f32;
    case Dtype::bfloat16:
      return dnnl::memory::data_type::bf16;
    case Dtype::float16:
      return dnnl::memory::data_type::f16;
    case Dtype::int32:
      return dnnl::memory::data_type::s32;
    case Dtype::int8:
      return dnnl::memory::data_type::s8;
    case Dtype::uint8:
      return dnnl::memory::data_type::u8;
    default:
      throw TypeError(std::string("oneDNN has no element type ") + name(dtype));
  }
}

void expect_room_for_kernels() {
  constexpr size_t kBytes = size_t{16} << 20;  // several kernels of at most 256 KiB, and what the heap grows by
  for (const bool is_last : {false, true}) {
    void* const room =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room != MAP_FAILED) {
      ::munmap(room, kBytes);
      return;
    }
    if (!is_last) memory::release_cached();
  }
  throw OutOfMemoryError("oneDNN: the system has no " + std::to_string(kBytes) + " bytes for the code of a kernel");
}

OneDnnSingleThread::OneDnnSingleThread() : previous_{omp_get_max_threads()} {
  if (previous_ != 1) omp_set_num_threads(1);
}

OneDnnSingleThread::~OneDnnSingleThread() {
  if (previous_ != 1) omp_set_num_threads(previous_);
}

}  // namespace kusari::cpu

#endif
