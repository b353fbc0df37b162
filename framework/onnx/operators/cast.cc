#include <cstring>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Variable cast_to(const Variable& x, DataType type, const char* what) {
  const std::optional<Dtype> dtype = dtype_for(type);
  if (!dtype) throw ValueError(std::string(what) + " is " + to_string(type) + ", of which Kusari has no dtype");
  if (is_floating(x) && !kusari::is_floating(*dtype)) {
    // bool: whatever is not 0; an integer: towards zero.
    if (*dtype == Dtype::bool_) return Variable(x.array() != 0, false);
    return F::cast(Variable(wrapped(x.array().astype(Dtype::int64), type), false), *dtype);
  }
  if (!is_floating(x) && !kusari::is_floating(*dtype) && *dtype != Dtype::bool_) {
    return F::cast(Variable(wrapped(x.array(), type), false), *dtype);
  }
  if (*dtype == Dtype::bool_ && x.dtype() != Dtype::bool_) return Variable(x.array() != 0, false);
  return F::cast(x, *dtype);
}

Operation cast(const NodeReader& node) {
  const DataType type = static_cast<DataType>(node.integer("to"));
  if (!dtype_for(type)) throw ValueError("its attribute to is " + to_string(type) + ", of which Kusari has no dtype");
  return unary([type](const Variable& x) { return cast_to(x, type, "to"); });
}

/// The same bits as another type of the same size.
Operation bit_cast(const NodeReader& node) {
  const Dtype dtype = node.dtype("to", DataType::undefined);
  const DataType type = node.data_type("to", DataType::undefined), declared = node.input_type(0);
  return [=](const Call& call) -> Values {
    // Integers of types without a dtype, which wider ones hold.
    const auto is_wide = [](DataType one) {
      return one == DataType::int16 || one == DataType::uint16 || one == DataType::uint32;
    };
    if (is_wide(declared) || is_wide(type)) return {cast_to(call[0], type, "to")};
    const Array x = call[0].array().contiguous().to_device(Device());
    if (itemsize(x.dtype()) != itemsize(dtype)) {
      throw TypeError("input has dtype " + kusari::to_string(x.dtype()) +
                      ", whose elements are of another size than those of " + kusari::to_string(dtype));
    }
    std::vector<char> bytes(static_cast<size_t>(x.nbytes()));
    if (!bytes.empty()) std::memcpy(bytes.data(), x.raw_data(), bytes.size());
    return {Value::on_host(from_host(bytes.data(), x.shape(), dtype))};
  };
}

}  // namespace

std::span<const Operator> cast_operators() {
  static constexpr Operator kOperators[] = {
      {"Cast", cast},
      {"CastLike",
       [](const NodeReader& node) -> Operation {
         return [declared = node.input_type(1)](const Call& call) -> Values {
           const bool is_known = declared != DataType::undefined && dtype_for(declared) == call.dtype(1);
           return {cast_to(call[0], is_known ? declared : type_of(call.dtype(1)), "target_type")};
         };
       }},
      {"BitCast", bit_cast},
  };
  return kOperators;
}

}  // namespace kusari::onnx
