#include "kusari/framework/distributions/parameters.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::distributions {

namespace {

void refuse_negative(const char* distribution, const NamedParameter& p) {
  const auto refuse = [&](double value) {
    throw ValueError(std::string(distribution) + ": " + p.name + " is " + general_text(value) +
                     ": it must not be negative");
  };
  if (p.value.is_number()) {
    if (p.value.number() < 0) refuse(p.value.number());
    return;
  }
  const Array& array = p.value.variable().array();
  if (!array.device().is_cpu() || GraphCapture::current() != nullptr || array.size() == 0) return;
  if (const double least = xp::min(array).item<double>(); least < 0) refuse(least);
}

}  // namespace

Variables parameters(const char* distribution, std::initializer_list<NamedParameter> given) {
  const NamedParameter* first = nullptr;
  for (const NamedParameter& p : given) {
    if (p.value.is_number()) continue;
    functions::expect_floating(p.value.variable(), distribution, p.name);
    if (first == nullptr) first = &p;
    const Variable &a = first->value.variable(), &b = p.value.variable();
    if (a.dtype() != b.dtype()) {
      throw TypeError(std::string(distribution) + ": " + first->name + " has dtype " + name(a.dtype()) + " but " +
                      p.name + " has dtype " + name(b.dtype()) + ": they must be the same");
    }
    if (a.device() != b.device()) {
      throw DeviceError(std::string(distribution) + ": " + first->name + " is on " + a.device().name() + " but " +
                        p.name + " is on " + b.device().name());
    }
  }
  for (const NamedParameter& p : given) {
    if (p.is_size) refuse_negative(distribution, p);
  }
  const Dtype dtype = first != nullptr ? first->value.variable().dtype() : promote(Dtype::int64, 0.5);
  const Device device = first != nullptr ? first->value.variable().device() : Device();
  Variables values;
  for (const NamedParameter& p : given) {
    values.push_back(p.value.is_number() ? Variable(full({}, p.value.number(), dtype, device), false)
                                         : p.value.variable());
  }
  return values;
}

Variables broadcast_parameters(const char* distribution, std::initializer_list<NamedParameter> given) {
  const Variables values = parameters(distribution, given);
  Shape shape = values[0].shape();
  for (size_t i = 1; i < values.size(); ++i) shape = broadcast_shapes(shape, values[i].shape(), distribution);
  Variables results;
  for (const Variable& value : values) results.push_back(functions::broadcast_to(value, shape));
  return results;
}

NamedParameter one_of(const char* distribution, const NamedParameter& a, const NamedParameter& b) {
  if (a.value.is_given() == b.value.is_given()) {
    throw ValueError(std::string(distribution) + ": " + (a.value.is_given() ? "both" : "none") + " of " + a.name +
                     " and " + b.name + " is given: it must be one of them");
  }
  return a.value.is_given() ? a : b;
}

int64_t last_size(const char* distribution, const char* parameter, const Shape& shape) {
  batch_of(distribution, parameter, shape, 1);
  return shape[shape.ndim() - 1];
}

Shape batch_of(const char* distribution, const char* parameter, const Shape& shape, int axes) {
  if (shape.ndim() < axes) {
    throw TypeError(std::string(distribution) + ": " + parameter + " has shape " + to_string(shape) +
                    ": it must have at least " + (axes == 1 ? "one axis" : std::to_string(axes) + " axes"));
  }
  Shape batch;
  for (int i = 0; i < shape.ndim() - axes; ++i) batch.push_back(shape[i]);
  return batch;
}

}  // namespace kusari::distributions
