#include "kusari/framework/onnx/export/array_operations.h"

#include <unordered_map>
#include <utility>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::onnx::exporting {
namespace {

// The inputs in one dtype, and the number, if there is one.
NodeWriter::Names array_operands(const NodeWriter& w, Dtype dtype) {
  NodeWriter::Names names;
  for (size_t i = 0; i < w.input_count(); ++i) names.push_back(w.cast(w.input(i), w.input_dtype(i), dtype));
  if (w.options().has("c")) names.push_back(w.scalar(w.options().real("c"), dtype));
  return names;
}

Dtype promoted_inputs(const NodeWriter& w) {
  Dtype dtype = w.input_dtype(0);
  for (size_t i = 1; i < w.input_count(); ++i) dtype = promote(dtype, w.input_dtype(i));
  return dtype;
}

// Runtimes compute with integers of 32 and 64 bits alone.
Dtype without_narrow_integers(Dtype dtype, Dtype instead) {
  return kusari::is_integral(dtype) && dtype != Dtype::int32 && dtype != Dtype::int64 ? instead : dtype;
}

// A node of that result, in the output's dtype.
void write_result(const NodeWriter& w, const char* type, const NodeWriter::Names& inputs, Dtype dtype) {
  if (dtype == w.output_dtype()) return w.node(type, inputs, {w.output()});
  w.node("Cast", {w.make(type, inputs)}, {w.output()}, {{"to", NodeWriter::type_number(w.output_dtype())}});
}

Converter comparison_of_arrays(const char* type, bool is_negated = false) {
  return [=](const NodeWriter& w) {
    const NodeWriter::Names x = array_operands(w, without_narrow_integers(promoted_inputs(w), Dtype::int32));
    if (!is_negated) return write_result(w, type, x, Dtype::bool_);
    write_result(w, "Not", {w.make(type, x)}, Dtype::bool_);
  };
}

Converter logic_of_arrays(const char* type) {
  return [=](const NodeWriter& w) { write_result(w, type, array_operands(w, Dtype::bool_), Dtype::bool_); };
}

// IsNaN, IsInf, or neither of them: of the floating dtypes that all opsets have.
NodeWriter::Names tested(const NodeWriter& w) {
  return array_operands(w, w.input_dtype(0) == Dtype::float64 ? Dtype::float64 : Dtype::float32);
}
Converter test_of_array(const char* type) {
  return [=](const NodeWriter& w) { write_result(w, type, tested(w), Dtype::bool_); };
}
void write_isfinite(const NodeWriter& w) {
  const NodeWriter::Names x = tested(w);
  write_result(w, "Not", {w.make("Or", {w.make("IsNaN", x), w.make("IsInf", x)})}, Dtype::bool_);
}

void write_where_of_arrays(const NodeWriter& w) {
  NodeWriter::Names x = array_operands(w, w.output_dtype());
  x[0] = w.cast(w.input(0), w.input_dtype(0), Dtype::bool_);
  w.node("Where", x, {w.output()});
}

Converter arithmetic_of_arrays(const char* type, bool number_first = false) {
  return [=](const NodeWriter& w) {
    const Dtype dtype = without_narrow_integers(promote(promoted_inputs(w), w.output_dtype()), Dtype::int64);
    NodeWriter::Names x = array_operands(w, dtype);
    if (number_first) std::swap(x[0], x[1]);
    write_result(w, type, x, dtype);
  };
}

void write_copy_of_array(const NodeWriter& w) { write_result(w, "Identity", {w.input(0)}, w.input_dtype(0)); }

class ArrayOperations {
 public:
  ArrayOperations() {
    add<kernels::Equal, kernels::EqualConst>(comparison_of_arrays("Equal"));
    add<kernels::NotEqual, kernels::NotEqualConst>(comparison_of_arrays("Equal", true));
    add<kernels::Less, kernels::LessConst>(comparison_of_arrays("Less"));
    add<kernels::LessEqual, kernels::LessEqualConst>(comparison_of_arrays("LessOrEqual"));
    add<kernels::Greater, kernels::GreaterConst>(comparison_of_arrays("Greater"));
    add<kernels::GreaterEqual, kernels::GreaterEqualConst>(comparison_of_arrays("GreaterOrEqual"));
    add<kernels::LogicalAnd>(logic_of_arrays("And"));
    add<kernels::LogicalOr>(logic_of_arrays("Or"));
    add<kernels::LogicalXor>(logic_of_arrays("Xor"));
    add<kernels::LogicalNot>(logic_of_arrays("Not"));
    add<kernels::Isnan>(test_of_array("IsNaN"));
    add<kernels::Isinf>(test_of_array("IsInf"));
    add<kernels::Isfinite>(write_isfinite);
    add<kernels::Where>(write_where_of_arrays);
    add<kernels::Neg>(arithmetic_of_arrays("Neg"));
    add<kernels::Add, kernels::AddConst>(arithmetic_of_arrays("Add"));
    add<kernels::Sub>(arithmetic_of_arrays("Sub"));
    add<kernels::RSubConst>(arithmetic_of_arrays("Sub", true));
    add<kernels::Mul, kernels::MulConst>(arithmetic_of_arrays("Mul"));
    add<kernels::Div, kernels::DivConst>(arithmetic_of_arrays("Div"));
    add<kernels::RDivConst>(arithmetic_of_arrays("Div", true));
    add<kernels::Maximum>(arithmetic_of_arrays("Max"));
    add<kernels::Minimum>(arithmetic_of_arrays("Min"));
    all_[kernel_id<kernels::Copy>().index] = {"array.copy", false, write_copy_of_array};
  }

  const std::unordered_map<int, ArrayOperation>& all() const { return all_; }

 private:
  // An operation between arrays and the one with a number.
  template <class... Ops>
  void add(const Converter& converter) {
    (add_one<Ops>(converter), ...);
  }
  template <class Op>
  void add_one(const Converter& converter) {
    constexpr bool has_number = requires(const Op& op) { op.c; };
    static_assert(!has_number || sizeof(Op) == sizeof(double), "the number is all that the kernel takes");
    all_[kernel_id<kernels::Pointwise<Op>>().index] = {std::string("array.") + Op::kName, has_number, converter};
  }

  std::unordered_map<int, ArrayOperation> all_;  // by kernel
};

const std::unordered_map<int, ArrayOperation>& array_operations() {
  static const ArrayOperations operations;
  return operations.all();
}

}  // namespace

const ArrayOperation* find_array_operation(KernelId kernel) {
  const auto found = array_operations().find(kernel.index);
  return found == array_operations().end() ? nullptr : &found->second;
}

void add_array_operation_converters(ConverterTable& table) {
  for (const auto& [kernel, operation] : array_operations()) table[operation.function] = operation.converter;
}

}  // namespace kusari::onnx::exporting
