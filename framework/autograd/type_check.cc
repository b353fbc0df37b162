#include "kusari/framework/autograd/type_check.h"

#include <string>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"

namespace kusari {

using type_check::Number;
using type_check::NumberRule;
using type_check::PairRule;

namespace {

std::string text(const Number& n) {
  switch (n.kind) {
    case Number::Kind::ndim:
      return std::string(n.name) + ".ndim";
    case Number::Kind::size:
      return std::string(n.name) + ".size";
    case Number::Kind::shape:
      return std::string(n.name) + ".shape[" + std::to_string(n.axis) + "]";
    case Number::Kind::constant:
      break;
  }
  return std::to_string(n.value);
}

std::string shape_of(const char* name, const Array& array) {
  return std::string(name) + " has shape " + to_string(array.shape());
}
std::string dtype_of_argument(const char* name, const Array& array) {
  return std::string(name) + " has dtype " + kusari::name(array.dtype());
}

std::string explain(const NumberRule& rule) {
  const Number &l = rule.left, &r = rule.right;
  std::string what = shape_of(l.name, *l.array);
  if (r.array != nullptr && r.array != l.array) what += " but " + shape_of(r.name, *r.array);
  what += ": ";
  for (const Number* n : {&l, &r}) {
    if (!n->exists)
      return what + text(*n) + " does not exist, but " + text(l) + " must " + rule.relation + " " + text(r);
  }
  const std::string relation = rule.relation;
  const char* sign = relation == "equal"             ? " != "
                     : relation == "differ from"     ? " == "
                     : relation == "be at least"     ? " < "
                     : relation == "be at most"      ? " > "
                     : relation == "be greater than" ? " <= "
                                                     : " >= ";
  return what + text(l) + " must " + relation + " " + text(r) + " (" + std::to_string(l.value) + sign +
         std::to_string(r.value) + ")";
}

}  // namespace

void type_check::Argument::throw_absent() const {
  throw TypeError(std::string("F::") + function_ + ": " + name_ + " is not given: it is required");
}

type_check::Argument TypeCheck::make(const char* name, size_t i) const {
  if (i >= inputs_->size()) {
    throw TypeError(std::string("F::") + function_ + ": it got " + std::to_string(inputs_->size()) +
                    " inputs: " + name + " is missing");
  }
  if (answer_ == nullptr || i != answer_->input) return {function_, name, &(*inputs_)[i]};
  answer_->name = name;
  return {function_, name, &(*inputs_)[i], &answer_->is_optional};
}

// In a text about several inputs under the name "xs[i]", which one it is.
std::string TypeCheck::with_index(std::string text, const Array* spoken_of) const {
  size_t index = 0;
  while (index < inputs_->size() && &(*inputs_)[index] != spoken_of) ++index;
  if (index == inputs_->size()) return text;
  for (size_t at = text.find("[i]"); at != std::string::npos; at = text.find("[i]", at)) {
    text.replace(at + 1, 1, std::to_string(index));
  }
  return text;
}

void TypeCheck::fail(const NumberRule& rule) const {
  throw TypeError(with_index(std::string("F::") + function_ + ": " + explain(rule), rule.left.array));
}

void TypeCheck::fail(const PairRule& rule) const {
  const std::string left = rule.left_name;
  const std::string right = rule.right_name != nullptr ? rule.right_name : "";
  std::string what = std::string("F::") + function_ + ": ";
  switch (rule.kind) {
    case PairRule::Kind::dtypes:
      what += dtype_of_argument(rule.left_name, *rule.left);
      if (!right.empty()) what += " but " + dtype_of_argument(rule.right_name, *rule.right);
      what += ": " + left + ".dtype must equal " + (right.empty() ? kusari::name(rule.dtype) : right + ".dtype") +
              " (" + kusari::name(rule.left->dtype()) + " != " + kusari::name(rule.dtype) + ")";
      break;
    case PairRule::Kind::shapes:
      what += shape_of(rule.left_name, *rule.left) + " but " + shape_of(rule.right_name, *rule.right) + ": " + left +
              ".shape must equal " + right + ".shape";
      break;
    case PairRule::Kind::floating:
      what += dtype_of_argument(rule.left_name, *rule.left) + ": " + left + ".dtype must be floating";
      break;
    case PairRule::Kind::integral:
      what += dtype_of_argument(rule.left_name, *rule.left) + ": " + left + ".dtype must be an integer or bool";
      break;
  }
  throw TypeError(with_index(what, rule.left));
}

}  // namespace kusari
