#include "kusari/tests/properties/property.h"

#include <cmath>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/core/philox.h"
#include "kusari/tests/test_device.h"

namespace kusari::testing {

int64_t Draw::integer(int64_t low, int64_t high) {
  const auto range = static_cast<uint64_t>(high - low) + 1;
  return low + static_cast<int64_t>((range * philox_word(seed_, next_++)) >> 32);
}

double Draw::number(double low, double high) {
  return low + (high - low) * (philox_word(seed_, next_++) + 0.5) * 0x1p-32;
}

Shape Draw::shape(int min_ndim, int max_ndim, int64_t max_size, bool may_be_empty) {
  const auto ndim = static_cast<int>(integer(min_ndim, max_ndim));
  Shape shape;
  for (int k = 0; k < ndim; ++k) shape.push_back(integer(1, max_size));
  if (may_be_empty && ndim > 0 && integer(1, 16) == 1) shape[static_cast<int>(integer(0, ndim - 1))] = 0;
  return shape;
}

Shape Draw::broadcastable(const Shape& shape) {
  Shape result;
  for (int k = static_cast<int>(integer(0, 2) == 0 ? integer(0, shape.ndim()) : 0); k < shape.ndim(); ++k) {
    result.push_back(integer(0, 2) == 0 ? 1 : shape[k]);
  }
  return result;
}

std::vector<int64_t> Draw::permutation(int64_t n) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < n; ++i) order.insert(order.begin() + integer(0, i), i);
  return order;
}

std::vector<int64_t> Draw::axes(int ndim, int min_count) {
  std::vector<int64_t> chosen = permutation(ndim);
  chosen.resize(static_cast<size_t>(integer(min_count, ndim)));
  for (int64_t& axis : chosen) axis -= flip() ? ndim : 0;
  return chosen;
}

Array Draw::real(const Shape& shape, double low, double high) { return real_away(shape, low, high, {}); }

Array Draw::real_away(const Shape& shape, double low, double high, const std::vector<double>& kinks, double gap) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (double& v : values) {
    do {
      v = number(low, high);
    } while (std::any_of(kinks.begin(), kinks.end(), [&](double kink) { return std::abs(v - kink) < gap; }));
  }
  return array(values, shape);
}

Array Draw::distinct(const Shape& shape, double gap) {
  const int64_t n = numel(shape);
  std::vector<double> values;
  for (const int64_t rank : permutation(n)) {
    values.push_back(1.5 * gap * (static_cast<double>(rank) - static_cast<double>(n) / 2) + number(0, 0.5 * gap));
  }
  return array(values, shape);
}

Array Draw::integers(const Shape& shape, int64_t low, int64_t high, Dtype dtype) {
  std::vector<int64_t> values(static_cast<size_t>(numel(shape)));
  for (int64_t& v : values) v = integer(low, high);
  return array(values, shape).astype(dtype);
}

Array Draw::booleans(const Shape& shape) { return integers(shape, 0, 1, Dtype::bool_); }

Array Draw::view(const Array& x) {
  const int64_t kind = integer(0, 3);
  if (kind == 0) return x;
  const int ndim = x.ndim();
  const std::vector<int64_t> order = permutation(ndim);  // the axes from the outermost in memory to the innermost
  Shape block;
  std::vector<int64_t> step, start, back(order.size());
  for (int k = 0; k < ndim; ++k) {
    const int64_t size = x.shape()[static_cast<int>(order[static_cast<size_t>(k)])];
    back[static_cast<size_t>(order[static_cast<size_t>(k)])] = k;
    step.push_back(kind == 1 ? 1 : pick<int64_t>({1, 1, 2, -1, -2}));
    const int64_t before = kind == 1 ? 0 : integer(0, 1), span = size == 0 ? 0 : (size - 1) * std::abs(step.back()) + 1;
    start.push_back(step.back() > 0 || size == 0 ? before : before + span - 1);
    block.push_back(before + span + (kind == 1 ? 0 : integer(0, 1)));
  }
  Array spread =
      x.is_floating() ? full(block, std::nan(""), x.dtype(), x.device()) : full(block, 99, x.dtype(), x.device());
  for (int k = 0; k < ndim; ++k) {
    const auto axis = static_cast<size_t>(k);
    spread = spread.slice(k, start[axis], x.shape()[static_cast<int>(order[axis])], step[axis]);
  }
  spread = spread.transpose(back);
  spread.copy_from(x);
  return spread;
}

namespace {

int64_t from_environment(const char* variable, int64_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoll(value, nullptr, 10);
}

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

/// The inputs in another floating dtype, each laid out in memory in some way.
Arrays prepared(const Arrays& inputs, Dtype dtype, Draw& draw) {
  Arrays result;
  for (const Array& x : inputs) {
    if (!x.is_defined()) {
      result.emplace_back();
      continue;
    }
    result.push_back(draw.view(on_test_device(x.is_floating() ? x.astype(dtype) : x)));
  }
  return result;
}

References read(const Arrays& arrays) {
  References result;
  for (const Array& x : arrays) {
    result.push_back(x.is_defined() ? Reference{x.shape(), x.to_vector<double>()} : Reference{});
  }
  return result;
}

std::string at_index(size_t place, const Shape& shape) {
  Shape index = shape;
  for (int k = shape.ndim() - 1; k >= 0; --k) {
    index[k] = static_cast<int64_t>(place) % shape[k];
    place /= static_cast<size_t>(shape[k]);
  }
  return to_string(index);
}

/// What is wrong with the outputs; "" when nothing is.
std::string compare(const Variables& outputs, const References& expected, double atol, double rtol) {
  if (outputs.size() != expected.size()) {
    return std::to_string(outputs.size()) + " outputs instead of " + std::to_string(expected.size());
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string which = "output " + std::to_string(k);
    if (outputs[k].shape() != expected[k].shape) {
      return which + " has shape " + to_string(outputs[k].shape()) + " instead of " + to_string(expected[k].shape);
    }
    const std::vector<double> got = outputs[k].to_vector<double>();
    if (expected[k].values.size() != got.size()) return which + ": the reference lacks values";
    for (size_t i = 0; i < got.size(); ++i) {
      const double want = expected[k].values[i];
      if (got[i] == want || (std::isnan(got[i]) && std::isnan(want))) continue;
      if (std::isfinite(want) && std::abs(got[i] - want) <= atol + rtol * std::abs(want)) continue;
      std::ostringstream text;
      text.precision(17);
      text << which << " at " << at_index(i, expected[k].shape) << " of " << to_string(expected[k].shape) << " is "
           << got[i] << " instead of " << want;
      return text.str();
    }
  }
  return "";
}

std::string check_values(const PropertyCase& one, Dtype dtype, Draw& draw) {
  const Arrays inputs = prepared(one.inputs, dtype, draw);
  Variables x;
  for (const Array& array : inputs) x.push_back(array.is_defined() ? Variable(array, false) : Variable());
  const Variables y = one.function(x);
  const bool single = dtype == Dtype::float32;
  for (size_t k = 0; k < y.size() && one.same_dtype; ++k) {
    if (y[k].array().is_floating() && y[k].dtype() != dtype) {
      return "output " + std::to_string(k) + " has dtype " + name(y[k].dtype()) + " instead of " + name(dtype);
    }
  }
  return compare(y, one.reference(read(inputs)), single ? one.float32_atol : one.atol,
                 single ? one.float32_rtol : one.rtol);
}

/// What is wrong with one case; "" when nothing is. `doing` always says what is being checked.
std::string check(const PropertyCase& one, uint64_t seed, Draw& draw, std::string& doing) {
  doing = "float64 values";
  if (std::string wrong = check_values(one, Dtype::float64, draw); !wrong.empty()) return wrong;
  if (one.float32) {
    doing = "float32 values";
    if (std::string wrong = check_values(one, Dtype::float32, draw); !wrong.empty()) return wrong;
  }
  const Arrays inputs = prepared(one.inputs, Dtype::float64, draw);
  if (one.first_order) {
    doing = "gradients of the first order";
    gradient_check::check_backward(
        one.function, inputs, {},
        {.eps = one.eps, .atol = one.gradient_atol, .rtol = one.gradient_rtol, .no_grads = one.no_grads, .seed = seed});
  }
  if (one.second_order) {
    doing = "gradients of the second order";
    gradient_check::check_double_backward(one.function, inputs, {}, {},
                                          {.eps = one.eps,
                                           .atol = 10 * one.gradient_atol,
                                           .rtol = 10 * one.gradient_rtol,
                                           .no_grads = one.no_grads,
                                           .seed = seed});
  }
  return "";
}

}  // namespace

std::string find_failure(const std::function<PropertyCase(Draw&)>& draw, uint64_t seed, int64_t cases) {
  for (int64_t i = 0; i < cases; ++i) {
    const uint64_t seed_of_case = seed + static_cast<uint64_t>(i);
    std::string doing = "drawing", wrong;
    PropertyCase one;
    try {
      Draw source(seed_of_case);
      one = draw(source);
      wrong = check(one, seed_of_case, source, doing);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong.empty()) continue;
    std::string text = "case " + std::to_string(i) + " of " + std::to_string(cases) + " (seed " +
                       std::to_string(seed_of_case) + "), inputs";
    for (const Array& x : one.inputs) {
      text += x.is_defined() ? std::string(" ") + name(x.dtype()) + to_string(x.shape()) : " absent";
    }
    return text + ": " + doing + ": " + wrong;
  }
  return "";
}

void check_property(const std::function<PropertyCase(Draw&)>& draw, int cases) {
  const char* const test = doctest::getContextOptions()->currentTest->m_name;
  const auto base = static_cast<uint64_t>(from_environment("KUSARI_PROPERTY_SEED", 0));
  const std::string failure = find_failure(draw, hash(test) + base, from_environment("KUSARI_PROPERTY_CASES", cases));
  CHECK_MESSAGE(failure.empty(), std::string(test), ": ", failure);
}

}  // namespace kusari::testing
