#pragma once

#if defined(KUSARI_WITH_ONEDNN)

#include <oneapi/dnnl/dnnl.hpp>

#include "kusari/framework/core/dtype.h"

// What the kernels that use oneDNN share. oneDNN 2.6 and 3.x.
namespace kusari::cpu {

/// The CPU engine of this process.
const dnnl::engine& onednn_engine();
/// A stream for the calling thread.
const dnnl::stream& onednn_stream();
/// The element type; throws TypeError for one that oneDNN lacks.
dnnl::memory::data_type onednn_type(Dtype dtype);

/// To be called before each primitive is made: oneDNN writes the code of its kernels into memory that it does not check
/// for being there. Throws OutOfMemoryError when the process, having given up what it cached, cannot have as much as
/// kernels need.
void expect_room_for_kernels();

/// While it lives, oneDNN works on the calling thread alone. Its own division of work, and with it the order of
/// summation, depends on the number of threads; ours does not.
class OneDnnSingleThread {
 public:
  OneDnnSingleThread();
  OneDnnSingleThread(const OneDnnSingleThread&) = delete;
  OneDnnSingleThread& operator=(const OneDnnSingleThread&) = delete;
  ~OneDnnSingleThread();

 private:
  int previous_;
};

}  // namespace kusari::cpu

#endif
