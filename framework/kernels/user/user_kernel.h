#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/reduce.h"

// Kernels that a program writes in CUDA C++ as text, compiled at their first use and kept on disk, as CuPy offers them.
// The text sees the element types by their names (float32, float16, int64, ...), Kusari's functions km::exp, km::tanh,
// ... and whatever `preamble` declares. None of them is differentiable: a FunctionNode may use them.
namespace kusari::cuda {

struct UserKernelOptions {
  std::string preamble = {};               ///< text before the kernel: functions, types
  std::vector<std::string> compiler = {};  ///< further options of NVRTC, such as "--use_fast_math"
};

/// An argument of a user's kernel: an array of a CUDA device, or a number.
class UserArgument {
 public:
  UserArgument(const Array& array) : array_{array} {}
  template <class T>
  requires std::is_arithmetic_v<T> UserArgument(T value) : scalar_{value}, is_number_{true} {}

  bool is_array() const noexcept { return !is_number_; }
  const Array& array() const noexcept { return array_; }
  Scalar scalar() const noexcept { return scalar_; }

 private:
  Array array_;
  Scalar scalar_{0};
  bool is_number_ = false;
};

/// y = an operation on the elements of broadcast arrays and numbers. cupy.ElementwiseKernel.
class KUSARI_API ElementwiseKernel {
 public:
  /// in_params, out_params: "T x, float32 a, raw T table": dtypes by name, or one capital letter for the dtype of the
  /// argument that comes; a raw parameter is indexed by the operation itself. operation: statements that assign the
  /// outputs; `i` is the element's number in C order and `n` how many there are. Throws ValueError for parameters that
  /// make no sense.
  ElementwiseKernel(const std::string& in_params, const std::string& out_params, const std::string& operation,
                    const std::string& name = "elementwise", const UserKernelOptions& options = {});
  ElementwiseKernel(ElementwiseKernel&&) noexcept;
  ElementwiseKernel& operator=(ElementwiseKernel&&) noexcept;
  ~ElementwiseKernel();

  /// The only output. Throws TypeError when arguments and parameters do not go together, DeviceError for arrays of the
  /// CPU, Error with the compiler's words when the text does not compile.
  template <class... Arguments>
  Array operator()(const Arguments&... inputs) const {
    return run({UserArgument(inputs)...})[0];
  }
  /// All outputs, new arrays of the broadcast shape.
  std::vector<Array> run(std::initializer_list<UserArgument> inputs) const;
  /// Into arrays that exist; they may be inputs too.
  void run_to(std::initializer_list<Array> outputs, std::initializer_list<UserArgument> inputs) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// y = the reduction of arrays over axes. cupy.ReductionKernel.
class KUSARI_API ReductionKernel {
 public:
  /// For every element `map` (an expression of the inputs) gives a value; `reduce` (an expression of a and b) combines
  /// two of them, starting with `identity`; `post_map` (statements) assigns the outputs from the last one, `a`. The
  /// values are of type `reduce_type`, by default the first output's, or float32 where that is a half type.
  ReductionKernel(const std::string& in_params, const std::string& out_params, const std::string& map,
                  const std::string& reduce, const std::string& post_map, const std::string& identity,
                  const std::string& name = "reduction", const std::string& reduce_type = {},
                  const UserKernelOptions& options = {});
  ReductionKernel(ReductionKernel&&) noexcept;
  ReductionKernel& operator=(ReductionKernel&&) noexcept;
  ~ReductionKernel();

  /// The only output, over all axes.
  template <class... Arguments>
  Array operator()(const Arguments&... inputs) const {
    return run({UserArgument(inputs)...})[0];
  }
  /// All outputs, over the given axes (none given: all).
  std::vector<Array> run(std::initializer_list<UserArgument> inputs, std::span<const int64_t> axes = {},
                         bool keepdims = false) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Blocks and threads of a launch: x, y, z.
struct LaunchDims {
  unsigned x = 1, y = 1, z = 1;
};

/// A parameter of a raw kernel: an array's address, a number of exactly its C++ type, or a struct byte for byte.
class RawArgument {
 public:
  RawArgument(const Array& array) : array_{array} {}
  template <class T>
  requires(std::is_trivially_copyable_v<T>) RawArgument(const T& value)
      : bytes_(reinterpret_cast<const char*>(&value), reinterpret_cast<const char*>(&value) + sizeof(T)),
        alignment_{alignof(T)} {}

  const Array& array() const noexcept { return array_; }
  std::span<const char> bytes() const noexcept { return bytes_; }
  size_t alignment() const noexcept { return alignment_; }

 private:
  Array array_;
  std::vector<char> bytes_;
  size_t alignment_ = 1;
};

/// A kernel written whole: an `extern "C" __global__` function. cupy.RawKernel.
class KUSARI_API RawKernel {
 public:
  RawKernel(const std::string& code, const std::string& name, const UserKernelOptions& options = {});
  RawKernel(RawKernel&&) noexcept;
  RawKernel& operator=(RawKernel&&) noexcept;
  ~RawKernel();

  /// Launches on the device of the arrays, of which there must be one. `shared`: bytes of dynamic shared memory. The
  /// arrays' elements are handed over as they lie in memory.
  void operator()(LaunchDims grid, LaunchDims block, std::initializer_list<RawArgument> arguments,
                  size_t shared = 0) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// ElementwiseKernel, ReductionKernel and RawKernel under the names of verbs.
inline ElementwiseKernel elementwise(const std::string& in_params, const std::string& out_params,
                                     const std::string& operation, const std::string& name = "elementwise",
                                     const UserKernelOptions& options = {}) {
  return ElementwiseKernel(in_params, out_params, operation, name, options);
}
inline ReductionKernel reduce(const std::string& in_params, const std::string& out_params, const std::string& map,
                              const std::string& reduce, const std::string& post_map, const std::string& identity,
                              const std::string& name = "reduction", const std::string& reduce_type = {},
                              const UserKernelOptions& options = {}) {
  return ReductionKernel(in_params, out_params, map, reduce, post_map, identity, name, reduce_type, options);
}
inline RawKernel raw(const std::string& code, const std::string& name, const UserKernelOptions& options = {}) {
  return RawKernel(code, name, options);
}

}  // namespace kusari::cuda
