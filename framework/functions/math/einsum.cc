#include "kusari/framework/functions/math/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/diagonal.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {
namespace {

/// Names of axes: a letter's code, or kDots + i for axis i of the ellipsis, counted from its right end.
using Labels = std::vector<int>;
constexpr char kEllipsisLetter = '@';
constexpr int kDots = 256;

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

[[noreturn]] void fail(const std::string& what) { throw ValueError("F::einsum: " + what); }

/// Subscripts with '@' for an ellipsis.
struct Subscripts {
  std::vector<std::string> inputs;
  std::string output;

  explicit Subscripts(std::string_view given) {
    std::string text;
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] == ' ') continue;
      if (given.substr(i, 3) == "...") {
        text += kEllipsisLetter;
        i += 2;
      } else if (given.substr(i, 2) == "->") {
        text += '>';
        ++i;
      } else if (given[i] == ',' || std::isalpha(static_cast<unsigned char>(given[i])) != 0) {
        text += given[i];
      } else {
        fail("'" + std::string(1, given[i]) + "' in \"" + std::string(given) +
             "\": subscripts are letters, commas, \"...\" and one \"->\"");
      }
    }
    const size_t arrow = text.find('>');
    if (text.find('>', arrow == std::string::npos ? arrow : arrow + 1) != std::string::npos) {
      fail("\"" + std::string(given) + "\" has more than one \"->\"");
    }
    std::string inputs_text = text.substr(0, arrow);
    for (size_t comma; (comma = inputs_text.find(',')) != std::string::npos; inputs_text.erase(0, comma + 1)) {
      inputs.push_back(inputs_text.substr(0, comma));
    }
    inputs.push_back(inputs_text);
    for (const std::string& input : inputs) {
      if (std::count(input.begin(), input.end(), kEllipsisLetter) > 1) fail("an operand has more than one \"...\"");
    }
    if (arrow == std::string::npos) {
      output = implied_output();
    } else {
      output = text.substr(arrow + 1);
      check_output();
    }
  }

 private:
  static std::string quoted(char letter) { return letter == kEllipsisLetter ? "..." : std::string(1, letter); }

  int count(char letter) const {
    int n = 0;
    for (const std::string& input : inputs) n += static_cast<int>(std::count(input.begin(), input.end(), letter));
    return n;
  }

  std::string implied_output() const {
    std::map<char, int> times;
    for (const std::string& input : inputs) {
      for (const char letter : input) ++times[letter];
    }
    std::string result;
    for (const auto& [letter, n] : times) {
      if (n == 1 || letter == kEllipsisLetter) result += letter;
    }
    return result;
  }

  void check_output() const {
    for (const char letter : output) {
      if (letter == ',') fail("a comma comes after \"->\"");
      if (std::count(output.begin(), output.end(), letter) > 1) fail(quoted(letter) + " comes twice in the result");
      if (count(letter) == 0) fail(quoted(letter) + " is in the result but in no operand");
    }
  }
};

/// A factor of the product, with a label for each axis.
struct Factor {
  Variable x;
  Labels labels;

  int64_t size(int label) const {
    return x.shape()[static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin())];
  }
};

/// Every label's size, checked against each operand.
class Sizes {
 public:
  void add(const Factor& factor, size_t operand) {
    for (int i = 0; i < factor.x.ndim(); ++i) {
      const int label = factor.labels[static_cast<size_t>(i)];
      const int64_t n = factor.x.shape()[i];
      const auto [at, is_new] = sizes_.try_emplace(label, n);
      if (is_new || at->second == n) continue;
      if (label >= kDots && (n == 1 || at->second == 1)) {
        at->second = at->second == 1 ? n : at->second;
        continue;
      }
      throw TypeError("F::einsum: operand " + std::to_string(operand) + " has shape " + to_string(factor.x.shape()) +
                      ": " + (label >= kDots ? "..." : std::string(1, static_cast<char>(label))) + " has size " +
                      std::to_string(n) + " there but size " + std::to_string(at->second) + " before");
    }
  }
  int64_t operator[](int label) const { return sizes_.at(label); }

 private:
  std::map<int, int64_t> sizes_;
};

Labels labels_of(const std::string& subscripts, int dots) {
  Labels labels;
  for (const char letter : subscripts) {
    if (letter != kEllipsisLetter) {
      labels.push_back(static_cast<unsigned char>(letter));
      continue;
    }
    for (int i = dots; i-- > 0;) labels.push_back(kDots + i);
  }
  return labels;
}

Factor factor_of(const Variable& x, const std::string& subscripts, size_t operand) {
  const std::string name = "operand " + std::to_string(operand);
  if (!x.is_defined()) throw TypeError("F::einsum: " + name + " is not given: it is required");
  if (!is_floating(x.dtype())) {
    throw TypeError("F::einsum: " + name + " has dtype " + kusari::name(x.dtype()) + ": it must be floating");
  }
  const bool has_dots = subscripts.find(kEllipsisLetter) != std::string::npos;
  const int letters = static_cast<int>(subscripts.size()) - (has_dots ? 1 : 0);
  if (has_dots ? x.ndim() < letters : x.ndim() != letters) {
    throw TypeError("F::einsum: " + name + " has shape " + to_string(x.shape()) + ": its subscripts are for " +
                    std::to_string(letters) + (has_dots ? " axes or more" : " axes"));
  }
  return {x, labels_of(subscripts, x.ndim() - letters)};
}

/// Axes of the ellipsis with size 1 are left out where another operand has more, and letters that come twice become
/// one.
void simplify(Factor& factor, const Sizes& sizes) {
  for (size_t i = factor.labels.size(); i-- > 0;) {
    if (factor.labels[i] < kDots || sizes[factor.labels[i]] == factor.x.shape()[static_cast<int>(i)]) continue;
    factor.x = squeeze(factor.x, static_cast<int64_t>(i));
    factor.labels.erase(factor.labels.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (size_t i = 0; i < factor.labels.size();) {
    const int label = factor.labels[i];
    const auto again =
        std::find(factor.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, factor.labels.end(), label);
    if (again == factor.labels.end()) {
      ++i;
      continue;
    }
    factor.x = diagonal(factor.x, {.axis1 = static_cast<int64_t>(i), .axis2 = again - factor.labels.begin()});
    factor.labels.erase(again);
    factor.labels.erase(factor.labels.begin() + static_cast<std::ptrdiff_t>(i));
    factor.labels.push_back(label);
  }
}

/// Sums over the axes that `needed` has not.
void sum_rest(Factor& factor, const Labels& needed) {
  std::vector<int64_t> axes;
  Labels left;
  for (size_t i = 0; i < factor.labels.size(); ++i) {
    if (has(needed, factor.labels[i])) {
      left.push_back(factor.labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return;
  factor.x = sum(factor.x, Axes(std::span<const int64_t>(axes)));
  factor.labels = std::move(left);
}

/// The axes in the order of `labels`, which are the factor's own.
Variable ordered(const Factor& factor, const Labels& labels) {
  Dims order;
  bool is_same = true;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto at = std::find(factor.labels.begin(), factor.labels.end(), labels[i]) - factor.labels.begin();
    is_same = is_same && at == static_cast<std::ptrdiff_t>(i);
    order.push_back(at);
  }
  return is_same ? factor.x : transpose(factor.x, {order.begin(), order.size()});
}

Labels joined(const Labels& a, const Labels& b) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

int64_t product(const Labels& labels, const Sizes& sizes) {
  int64_t n = 1;
  for (const int label : labels) n *= sizes[label];
  return n;
}

/// The product of two factors, summed over what only they have and `needed` has not.
Factor contract(Factor a, Factor b, const Labels& needed, const Sizes& sizes) {
  sum_rest(a, joined(needed, b.labels));
  sum_rest(b, joined(needed, a.labels));
  Labels batch, left, right, summed, shared;
  for (const int label : a.labels)
    (!has(b.labels, label) ? left : has(needed, label) ? batch : summed).push_back(label);
  for (const int label : b.labels) {
    if (!has(a.labels, label)) right.push_back(label);
  }
  const int64_t count = product(batch, sizes), m = product(left, sizes), n = product(right, sizes);
  const int64_t k = product(summed, sizes);
  const Variable rows = reshape(ordered(a, joined(joined(batch, left), summed)), {count, m, k});
  const Variable columns = reshape(ordered(b, joined(joined(batch, summed), right)), {count, k, n});
  Variable y;
  if (summed.empty()) {  // (count, m, 1) and (count, 1, n)
    y = rows * columns;
  } else if (m == 1 && n == 1 && count > 1) {  // many dot products, which are too small to be products of matrices
    const Dtype dtype = rows.dtype(), wide = is_half(dtype) ? Dtype::float32 : dtype;
    y = cast(sum(cast(reshape(rows, {count, k}), wide) * cast(reshape(columns, {count, k}), wide), 1), dtype);
  } else {
    y = matmul(rows, columns);
  }
  Labels labels = joined(joined(batch, left), right);
  Shape shape;
  for (const int label : labels) shape.push_back(sizes[label]);
  return {reshape(y, shape), std::move(labels)};
}

/// Labels that are needed when factors i and j are gone.
Labels needed_beside(const std::vector<Factor>& factors, size_t i, size_t j, const Labels& output) {
  Labels needed = output;
  for (size_t f = 0; f < factors.size(); ++f) {
    if (f != i && f != j) needed.insert(needed.end(), factors[f].labels.begin(), factors[f].labels.end());
  }
  return needed;
}

/// Multiplications that the product of two factors takes.
double work(const Factor& a, const Factor& b, const Sizes& sizes) {
  double n = 1;
  for (const int label : a.labels) n *= static_cast<double>(sizes[label]);
  for (const int label : b.labels) n *= has(a.labels, label) ? 1.0 : static_cast<double>(sizes[label]);
  return n;
}

Variable sum_of_products(const Subscripts& subscripts, std::span<const Variable> operands) {
  if (subscripts.inputs.size() != operands.size()) {
    fail("there are subscripts for " + std::to_string(subscripts.inputs.size()) + " operands but " +
         std::to_string(operands.size()) + " operands");
  }
  std::vector<Factor> factors;
  Sizes sizes;
  int dots = 0;
  Dtype dtype{};
  for (size_t i = 0; i < operands.size(); ++i) {
    factors.push_back(factor_of(operands[i], subscripts.inputs[i], i));
    sizes.add(factors.back(), i);
    dtype = i == 0 ? operands[i].dtype() : promote(dtype, operands[i].dtype());
    const auto of_dots = [](int label) { return label >= kDots; };
    dots = std::max(dots, static_cast<int>(std::count_if(factors[i].labels.begin(), factors[i].labels.end(), of_dots)));
  }
  if (dots > 0 && subscripts.output.find(kEllipsisLetter) == std::string::npos) {
    fail("... must be in the result: axes are summed by their letters");
  }
  for (Factor& factor : factors) {
    simplify(factor, sizes);
    factor.x = cast(factor.x, dtype);  // before anything is summed, which the narrower dtype may not hold
  }
  const Labels output = labels_of(subscripts.output, dots);
  while (factors.size() > 1) {
    size_t first = 0, second = 1;
    double least = work(factors[0], factors[1], sizes);
    for (size_t j = 2; j < factors.size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        if (const double n = work(factors[i], factors[j], sizes); n < least) {
          least = n;
          first = i;
          second = j;
        }
      }
    }
    factors[first] = contract(factors[first], factors[second], needed_beside(factors, first, second, output), sizes);
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(second));
  }
  sum_rest(factors[0], output);
  return ordered(factors[0], output);
}

std::string letters(const std::vector<int>& numbers) {
  static constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string text;
  for (const int number : numbers) {
    if (number == kEllipsisSubscript) {
      text += "...";
    } else if (number < 0 || number >= static_cast<int>(kLetters.size())) {
      fail("subscript " + std::to_string(number) + ": numbers are 0 to 51, or kEllipsisSubscript");
    } else {
      text += kLetters[static_cast<size_t>(number)];
    }
  }
  return text;
}

}  // namespace

Variable einsum(std::string_view subscripts, std::span<const Variable> operands) {
  const Subscripts parsed(subscripts);
  if (const CompositeInputs in("einsum", operands); in.is_cast()) {
    Variables cast;
    for (size_t i = 0; i < operands.size(); ++i) cast.push_back(in[i]);
    return sum_of_products(parsed, {cast.data(), cast.size()});
  }
  return sum_of_products(parsed, operands);
}

Variable einsum(std::span<const EinsumOperand> operands, const std::optional<std::vector<int>>& output) {
  std::string subscripts;
  Variables xs;
  for (const EinsumOperand& operand : operands) {
    if (!xs.empty()) subscripts += ',';
    subscripts += letters(operand.subscripts);
    xs.push_back(operand.x);
  }
  if (output) subscripts += "->" + letters(*output);
  return einsum(subscripts, std::span<const Variable>(xs.data(), xs.size()));
}

Variable einsum(std::string_view subscripts, std::initializer_list<Variable> operands) {
  return einsum(subscripts, std::span<const Variable>(operands.begin(), operands.size()));
}

Variable einsum(std::initializer_list<EinsumOperand> operands, const std::optional<std::vector<int>>& output) {
  return einsum(std::span<const EinsumOperand>(operands.begin(), operands.size()), output);
}

}  // namespace kusari::functions
