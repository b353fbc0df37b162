#include "kusari/framework/cpu/onednn.h"

#if defined(KUSARI_WITH_ONEDNN)

#include <omp.h>

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"

namespace kusari::cpu {

namespace {

struct Engine : dnnl::engine {
  Engine() : dnnl::engine(dnnl::engine::kind::cpu, 0) {}
};

constinit Lazy<Engine> engine;  // never destroyed: threads that outlive main may still hold primitives

}  // namespace

const dnnl::engine& onednn_engine() { return *engine; }

const dnnl::stream& onednn_stream() {
  static thread_local const dnnl::stream stream(onednn_engine());
  return stream;
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

OneDnnSingleThread::OneDnnSingleThread() : previous_{omp_get_max_threads()} {
  if (previous_ != 1) omp_set_num_threads(1);
}

OneDnnSingleThread::~OneDnnSingleThread() {
  if (previous_ != 1) omp_set_num_threads(previous_);
}

}  // namespace kusari::cpu

#endif
