#include "kusari/framework/kernels/fused_pointwise.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/broadcast.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari {
namespace {

using kernels::FusedProgram;

template <class Op>
PointwiseFunctor describe(const char* type) {
  static_assert(sizeof(Op) <= FusedProgram::kFunctorBytes && alignof(Op) <= 8);
  constexpr bool kIsBoolean = requires { Op::kBoolean; };
  constexpr bool kTakesIntegers = requires { Op::kIntegers; };
  return {kernel_id<kernels::Pointwise<Op>>(), type,       static_cast<int8_t>(detail::pointwise_arity<Op>()),
          static_cast<int8_t>(sizeof(Op)),     kIsBoolean, kTakesIntegers};
}

/// By the kernel's index; `type` is null where it is no functor's.
std::vector<PointwiseFunctor> describe_all() {
  const PointwiseFunctor list[] = {
#define KUSARI_DESCRIBE(Op) describe<kernels::Op>(#Op),
      KUSARI_ARITHMETIC_OPS(KUSARI_DESCRIBE) KUSARI_MATH_FUNCTION_OPS(KUSARI_DESCRIBE)
          KUSARI_COMPARISON_OPS(KUSARI_DESCRIBE) KUSARI_ACTIVATION_OPS(KUSARI_DESCRIBE)
#undef KUSARI_DESCRIBE
  };
  int most = 0;
  for (const PointwiseFunctor& functor : list) most = std::max(most, functor.kernel.index);
  std::vector<PointwiseFunctor> table(static_cast<size_t>(most) + 1);
  for (const PointwiseFunctor& functor : list) table[static_cast<size_t>(functor.kernel.index)] = functor;
  return table;
}

bool is_wider(Dtype a, Dtype b) { return a == Dtype::float64 || (a == Dtype::float32 && b == Dtype::int64); }

}  // namespace

const PointwiseFunctor* find_pointwise_functor(KernelId kernel) {
  static const std::vector<PointwiseFunctor>* const table = new std::vector<PointwiseFunctor>(describe_all());
  const auto index = static_cast<size_t>(kernel.index);
  return index < table->size() && (*table)[index].type != nullptr ? &(*table)[index] : nullptr;
}

void check_fused_arrays(const FusedProgram& program, std::span<const Array> inputs, std::span<const Array> outputs) {
  if (static_cast<int>(inputs.size()) != program.inputs || static_cast<int>(outputs.size()) != program.outputs ||
      outputs.empty()) {
    throw ValueError("fused_pointwise: the program has " + std::to_string(program.inputs) + " inputs and " +
                     std::to_string(program.outputs) + " outputs but got " + std::to_string(inputs.size()) + " and " +
                     std::to_string(outputs.size()) + " arrays");
  }
  const auto check = [](const char* what, size_t index, Dtype expected, Dtype got) {
    if (expected == got) return;
    throw TypeError(std::string("fused_pointwise: ") + what + " " + std::to_string(index) + " has dtype " + name(got) +
                    " but must have " + name(expected));
  };
  for (size_t i = 0; i < inputs.size(); ++i) check("input", i, program.input_dtype[i], inputs[i].dtype());
  for (size_t k = 0; k < outputs.size(); ++k) check("output", k, program.output_dtype[k], outputs[k].dtype());
}

void check_fused_shapes(std::span<const Array> inputs, std::span<const Array> outputs) {
  for (const Array& y : outputs) {
    if (y.shape() == outputs[0].shape()) continue;
    throw TypeError("fused_pointwise: outputs have shapes " + to_string(outputs[0].shape()) + " and " +
                    to_string(y.shape()) + " but must have one");
  }
  for (const Array& x : inputs) check_broadcast("fused_pointwise", x, outputs[0].shape());
}

Dtype FusedProgramBuilder::natural(Dtype dtype) {
  return dtype == Dtype::float64 ? Dtype::float64 : (is_floating(dtype) ? Dtype::float32 : Dtype::int64);
}

Dtype FusedProgramBuilder::compute_dtype(std::span<const Dtype> operands, Dtype result) {
  Dtype compute = is_floating(result) ? natural(result) : Dtype::int64;
  for (const Dtype dtype : operands) {
    if (is_wider(natural(dtype), compute)) compute = natural(dtype);
  }
  return compute;
}

FusedProgram::Op* FusedProgramBuilder::add(KernelId kernel, Dtype held, Dtype dtype) {
  if (program_.ops == FusedProgram::kMaxOps) return nullptr;
  FusedProgram::Op& op = program_.op[program_.ops++];
  op.kernel = kernel;
  op.held = held;
  op.dtype = dtype;
  return &op;
}

// Operands of operations are kept as -1 - i for input i and j for operation j until finish(), because inputs are still
// added.
int8_t FusedProgramBuilder::convert(int8_t value, Dtype dtype, Dtype held) {
  FusedProgram::Op* const op = add(kernel_id<kernels::Copy>(), held, dtype);
  if (op == nullptr) return kFull;
  op->arguments = 1;
  op->operand[0] = value;
  return static_cast<int8_t>(program_.ops - 1);
}

Dtype FusedProgramBuilder::held(int8_t number) const {
  return number < 0 ? program_.input[-1 - number] : program_.op[number].held;
}

int8_t FusedProgramBuilder::read(Value& value, Dtype wanted) {
  if (!value.is_exact) {
    const int8_t rounded = convert(value.number, value.dtype, held(value.number));
    if (rounded == kFull) return kFull;
    value.number = rounded;
    value.is_exact = true;
  }
  if (held(value.number) == wanted) return value.number;
  if (value.converted != kFull && held(value.converted) == wanted) return value.converted;
  return value.converted = convert(value.number, wanted, wanted);
}

std::optional<FusedProgramBuilder::Value> FusedProgramBuilder::input(Dtype array, Dtype held) {
  if (program_.inputs == FusedProgram::kMaxInputs) return std::nullopt;
  program_.input_dtype[program_.inputs] = array;
  program_.input[program_.inputs++] = held;
  return Value{static_cast<int8_t>(-program_.inputs), array};
}

std::optional<FusedProgramBuilder::Value> FusedProgramBuilder::pointwise(const PointwiseFunctor& functor,
                                                                         const std::byte* bytes,
                                                                         std::span<Value* const> operands,
                                                                         Dtype compute, Dtype dtype) {
  int8_t numbers[4];
  for (size_t k = 0; k < operands.size(); ++k) {
    numbers[k] = read(*operands[k], compute);
    if (numbers[k] == kFull) return std::nullopt;
  }
  FusedProgram::Op* const op = add(functor.kernel, compute, compute);
  if (op == nullptr) return std::nullopt;
  op->arguments = functor.arguments;
  std::copy_n(numbers, operands.size(), op->operand);
  std::memcpy(op->functor, bytes, static_cast<size_t>(functor.bytes));
  return Value{static_cast<int8_t>(program_.ops - 1), dtype, dtype == compute || functor.is_boolean};
}

std::optional<FusedProgramBuilder::Value> FusedProgramBuilder::copy(Value& x, Dtype dtype) {
  if (x.dtype == dtype) {
    const int8_t number = read(x, held(x.number));
    if (number == kFull) return std::nullopt;
    return Value{number, dtype};
  }
  const int8_t number = read(x, natural(x.dtype));
  if (number == kFull) return std::nullopt;
  const int8_t converted = convert(number, dtype, natural(dtype));
  if (converted == kFull) return std::nullopt;
  return Value{converted, dtype};
}

std::optional<FusedProgramBuilder::Value> FusedProgramBuilder::fill(const std::byte* scalar, Dtype dtype) {
  static_assert(sizeof(Scalar) <= FusedProgram::kFunctorBytes && alignof(Scalar) <= 8);
  FusedProgram::Op* const op = add(kernel_id<kernels::Fill>(), natural(dtype), dtype);
  if (op == nullptr) return std::nullopt;
  std::memcpy(op->functor, scalar, sizeof(Scalar));
  return Value{static_cast<int8_t>(program_.ops - 1), dtype};
}

FusedProgram FusedProgramBuilder::finish(std::span<const Value> outputs) const {
  FusedProgram program = program_;
  const auto number = [&](int8_t value) {
    return static_cast<int8_t>(value < 0 ? -1 - value : program.inputs + value);
  };
  int last_use[FusedProgram::kMaxInputs + FusedProgram::kMaxOps];
  std::fill(std::begin(last_use), std::end(last_use), -1);
  for (int j = 0; j < program.ops; ++j) {
    FusedProgram::Op& op = program.op[j];
    for (int k = 0; k < op.arguments; ++k) {
      op.operand[k] = number(op.operand[k]);
      last_use[op.operand[k]] = j;
    }
  }
  program.outputs = static_cast<int>(outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    program.output[k] = number(outputs[k].number);
    program.output_dtype[k] = outputs[k].dtype;
    last_use[program.output[k]] = program.ops;
  }
  // First fit. The result may take the place of an operand that is read for the last time, but for conversions: their
  // elements may differ in size.
  int busy_until[FusedProgram::kMaxOps];
  std::fill(std::begin(busy_until), std::end(busy_until), -1);
  for (int j = 0; j < program.ops; ++j) {
    const bool in_place = program.op[j].kernel.index != kernel_id<kernels::Copy>().index;
    int place = 0;
    while (busy_until[place] > j || (busy_until[place] == j && !in_place)) ++place;
    program.op[j].place = static_cast<int8_t>(place);
    busy_until[place] = std::max(last_use[program.inputs + j], j + 1);
    program.places = std::max(program.places, place + 1);
  }
  return program;
}

}  // namespace kusari
