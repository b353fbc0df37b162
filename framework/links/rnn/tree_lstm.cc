#include "kusari/framework/links/rnn/tree_lstm.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/rnn/recurrent.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

using Nodes = std::vector<Variable>;

// What a node without some of its inputs takes: zeros like the first that there is.
class Inputs {
 public:
  Inputs(const char* call, std::span<const Variable> c_given, std::span<const Variable> h_given,
         const Variable& x_given, const Linear& of_x, int64_t units) {
    if (c_given.size() != h_given.size()) {
      throw ValueError(std::string(call) + ": cs has " + std::to_string(c_given.size()) + " entries and hs " +
                       std::to_string(h_given.size()) + ": there must be one of each for each child");
    }
    const Variable* like = x_given.is_defined() ? &x_given : nullptr;
    for (const auto& list : {c_given, h_given}) {
      for (const Variable& each : list) like = like == nullptr && each.is_defined() ? &each : like;
    }
    if (like == nullptr) {
      throw ValueError(std::string(call) + ": nothing is given: at least x or one of a child must be");
    }
    functions::expect_given(*like, call, "x");
    if (!x_given.is_defined() && !of_x.W.is_initialized()) {
      throw ValueError(std::string(call) + ": x is not given and in_size not known yet: call it with x first");
    }
    x = x_given.is_defined() ? x_given : zero_state(*like, of_x.W.shape(1));
    for (const Variable& c : c_given) cs.push_back(c.is_defined() ? c : zero_state(*like, units));
    for (const Variable& h : h_given) hs.push_back(h.is_defined() ? h : zero_state(*like, units));
  }

  Variable x;
  Nodes cs, hs;
};

std::span<const Variable> span_of(std::initializer_list<Variable> list) { return {list.begin(), list.size()}; }

// A leaf is a node whose children are zeros.
functions::CellOutput leaf(const Variable& aio, int64_t units) {
  const Variable zero = zero_state(aio, units);
  return functions::tree_lstm({zero}, functions::concat({aio, zero}, 1));
}

}  // namespace

ChildSumTreeLSTM::ChildSumTreeLSTM(int64_t in_size, int64_t out_size)
    : W_x{*this, "W_x", size_or_infer("L::ChildSumTreeLSTM", "in_size", in_size),
          size_times("L::ChildSumTreeLSTM", "out_size", out_size, 4)},
      W_h_aio{*this, "W_h_aio", out_size, 3 * out_size, {.nobias = true}},
      W_h_f{*this, "W_h_f", out_size, out_size, {.nobias = true}} {}

functions::CellOutput ChildSumTreeLSTM::operator()(std::span<const Variable> cs, std::span<const Variable> hs,
                                                   const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(W_x.W);
  const LinkCall call(*this);
  const int64_t units = W_h_f.W.shape(0);
  const Inputs in("L::ChildSumTreeLSTM", cs, hs, x, W_x, units);
  const Variables from_x = functions::split_axis(W_x(in.x), {3 * units}, 1);
  if (in.cs.empty()) return leaf(from_x[0], units);
  Variable sum = in.hs[0];
  for (size_t k = 1; k < in.hs.size(); ++k) sum = sum + in.hs[k];
  Nodes gates{W_h_aio(sum) + from_x[0]};
  // The products of all children are one.
  const Variable all = W_h_f(functions::concat(in.hs, 0));
  const Variables of_children =
      in.hs.size() == 1 ? Variables(all) : functions::split_axis(all, static_cast<int64_t>(in.hs.size()), 0);
  for (const Variable& each : of_children) gates.push_back(each + from_x[1]);
  return functions::tree_lstm(in.cs, functions::concat(gates, 1));
}

functions::CellOutput ChildSumTreeLSTM::operator()(std::initializer_list<Variable> cs,
                                                   std::initializer_list<Variable> hs, const Variable& x) const {
  return (*this)(span_of(cs), span_of(hs), x);
}

NaryTreeLSTM::NaryTreeLSTM(int64_t in_size, int64_t out_size, int64_t n_ary)
    : W_x{*this, "W_x", size_or_infer("L::NaryTreeLSTM", "in_size", in_size),
          size_times("L::NaryTreeLSTM", "out_size", out_size, 3 + argument::count("L::NaryTreeLSTM", "n_ary", n_ary))} {
  for (int64_t k = 0; k < n_ary; ++k)
    children_.emplace_back(out_size, (3 + n_ary) * out_size, LinearOptions{.nobias = true});
}

Linear& NaryTreeLSTM::W_h(size_t k) {
  if (k < children_.size()) return children_[k];
  throw IndexError("L::NaryTreeLSTM::W_h: k is " + std::to_string(k) + ": it must be less than " +
                   std::to_string(children_.size()));
}

functions::CellOutput NaryTreeLSTM::operator()(std::span<const Variable> cs, std::span<const Variable> hs,
                                               const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(W_x.W);
  const LinkCall call(*this);
  const int64_t units = children_[0].W.shape(1);
  if (!cs.empty() && cs.size() != children_.size()) {
    throw ValueError("L::NaryTreeLSTM: cs has " + std::to_string(cs.size()) + " entries: there must be " +
                     std::to_string(children_.size()) + ", or none for a leaf");
  }
  const Inputs in("L::NaryTreeLSTM", cs, hs, x, W_x, units);
  Variable gates = W_x(in.x);
  if (in.cs.empty()) return leaf(functions::split_axis(gates, {3 * units}, 1)[0], units);
  for (size_t k = 0; k < children_.size(); ++k) {
    if (hs[k].is_defined()) gates = gates + children_[k](hs[k]);
  }
  return functions::tree_lstm(in.cs, gates);
}

functions::CellOutput NaryTreeLSTM::operator()(std::initializer_list<Variable> cs, std::initializer_list<Variable> hs,
                                               const Variable& x) const {
  return (*this)(span_of(cs), span_of(hs), x);
}

}  // namespace kusari::links
