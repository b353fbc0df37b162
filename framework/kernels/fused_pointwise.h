#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"

namespace kusari {

/// What is known of a functor of the pointwise kernels by its kernel's id.
struct PointwiseFunctor {
  KernelId kernel;
  const char* type;     ///< name of the struct in kusari::kernels
  int8_t arguments;     ///< 1 .. 4
  int8_t bytes;         ///< of the functor
  bool is_boolean;      ///< the result is 0 or 1
  bool takes_integers;  ///< else it computes in floating types only
};

/// The functor of a kernel of the four lists (arithmetic, math functions, comparison, activation), else null.
KUSARI_API const PointwiseFunctor* find_pointwise_functor(KernelId kernel);

namespace kernels {

/// Pointwise operations in order, each on inputs and results of earlier ones. Values are numbered: the inputs, then the
/// results. A value is held in float32, float64 or int64, whatever dtype it is an element of.
struct FusedProgram {
  static constexpr int kMaxInputs = 12;
  static constexpr int kMaxOutputs = 8;
  static constexpr int kMaxOperands = 16;  ///< inputs and outputs together
  static constexpr int kMaxOps = 32;
  static constexpr size_t kFunctorBytes = 40;

  struct Op {
    /// Of a Pointwise<Op>, whose operands and result are all held in `held`; of Copy, which makes its operand a number
    /// of `dtype` and holds that in `held`; or of Fill, whose functor is a Scalar: that as a number of `dtype`.
    KernelId kernel;
    Dtype held;
    Dtype dtype;
    int8_t arguments;
    int8_t operand[4];  ///< numbers of values
    /// Where the result may be kept: values that are needed at one time have different places. An operand that is not
    /// needed any longer may have the result's.
    int8_t place;
    alignas(8) std::byte functor[kFunctorBytes];
  };

  int inputs;
  int outputs;
  int ops;
  int places;
  Dtype input[kMaxInputs];          ///< in which it is held: its array is converted when it is read
  Dtype input_dtype[kMaxInputs];    ///< of its array
  int8_t output[kMaxOutputs];       ///< the value that goes to an output: converted when it is written
  Dtype output_dtype[kMaxOutputs];  ///< of its array
  Op op[kMaxOps];

  /// What PrepareFusedPointwise has found out for a backend.
  struct Prepared {
    using Function = void (*)();
    bool is_done;
    int64_t element_bytes;  ///< of the widest value
    Function input[kMaxInputs];
    Function output[kMaxOutputs];
    Function op[kMaxOps][2];
    int8_t direct[kMaxOps];  ///< the output whose memory may keep the result, or -1
  } prepared;

  Dtype held(int value) const noexcept { return value < inputs ? input[value] : op[value - inputs].held; }
};

/// Runs the program for every element. Outputs have one shape, to which inputs are broadcast; any strides. An output
/// may be exactly an input that no operation reads after the one that gives the output. The results are those of the
/// separate kernels: the same bits.
struct FusedPointwise {
  static constexpr const char* kName = "fused_pointwise";
  using Signature = void(Params<FusedProgram> program, InList inputs, OutList outputs);
};

/// Does once what every launch of FusedPointwise with such arguments would otherwise do, and may write the outcome into
/// the program: it is for this process and this backend from then on. Of the arrays, only shapes, strides, dtypes and
/// the addresses' alignment are looked at. Optional.
struct PrepareFusedPointwise {
  static constexpr const char* kName = "prepare_fused_pointwise";
  using Signature = void(Params<FusedProgram*> program, InList inputs, OutList outputs);
};

}  // namespace kernels

/// Throws ValueError or TypeError unless the arrays are as many as the program says, of its dtypes.
KUSARI_API void check_fused_arrays(const kernels::FusedProgram& program, std::span<const Array> inputs,
                                   std::span<const Array> outputs);
/// Throws TypeError unless the outputs have one shape, to which the inputs can be broadcast.
KUSARI_API void check_fused_shapes(std::span<const Array> inputs, std::span<const Array> outputs);

/// Writes a FusedProgram.
class KUSARI_API FusedProgramBuilder {
 public:
  /// What an array would hold: an input, or the result of a step.
  struct Value {
    int8_t number;             ///< the builder's
    Dtype dtype;               ///< of the array
    bool is_exact = true;      ///< whether it has been rounded to that dtype; it is before it is read
    int8_t converted = kFull;  ///< the same number held in another type
  };
  static constexpr int8_t kFull = -128;

  /// An array whose elements are read as `held`, float32, float64 or int64. This and the steps give nothing when the
  /// program is full; the builder must not be used any longer then.
  std::optional<Value> input(Dtype array, Dtype held);
  /// A pointwise kernel that computes in `compute` and whose result has `dtype`.
  std::optional<Value> pointwise(const PointwiseFunctor& functor, const std::byte* bytes,
                                 std::span<Value* const> operands, Dtype compute, Dtype dtype);
  std::optional<Value> copy(Value& x, Dtype dtype);
  std::optional<Value> fill(const std::byte* scalar, Dtype dtype);

  int inputs() const noexcept { return program_.inputs; }
  int ops() const noexcept { return program_.ops; }
  /// The program that writes these values into arrays of their dtypes.
  kernels::FusedProgram finish(std::span<const Value> outputs) const;

  /// The dtype in which a pointwise kernel computes.
  static Dtype compute_dtype(std::span<const Dtype> operands, Dtype result);
  /// float32, float64 or int64: that holds every number of the dtype, and in which copies read it.
  static Dtype natural(Dtype dtype);

 private:
  kernels::FusedProgram::Op* add(KernelId kernel, Dtype held, Dtype dtype);
  Dtype held(int8_t number) const;
  /// The value, rounded to its dtype, held in `wanted`; kFull when the program is full.
  int8_t read(Value& value, Dtype wanted);
  int8_t convert(int8_t value, Dtype dtype, Dtype held);

  kernels::FusedProgram program_{};  // without `prepared`
};

}  // namespace kusari
