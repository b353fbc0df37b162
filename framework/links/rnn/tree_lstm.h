#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/tree_lstm.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// A node of a tree of long short-term memories with any number of children, whose h are added up: each child has a
/// forget gate of its own. Tai et al. 2015; chainer.links.ChildSumTreeLSTM.
class KUSARI_API ChildSumTreeLSTM : public Chain {
 public:
  /// in_size may be kInfer; a node without x then needs that one with x came first.
  ChildSumTreeLSTM(int64_t in_size, int64_t out_size);

  /// cs, hs: c and h of the children, (B, out_size), undefined ones for zeros; none for a leaf. x: (B, in_size), or
  /// undefined for zeros. Returns c and h: (B, out_size). Throws ValueError when cs and hs are not as many or nothing
  /// is given, TypeError when shapes or dtypes do not fit. Chainer takes them as one list, cs, hs and x.
  functions::CellOutput operator()(std::span<const Variable> cs, std::span<const Variable> hs, const Variable& x) const;
  functions::CellOutput operator()(std::initializer_list<Variable> cs, std::initializer_list<Variable> hs,
                                   const Variable& x) const;

  Child<Linear> W_x;      ///< W: (4 out_size, in_size), b: a, i, o, f as blocks
  Child<Linear> W_h_aio;  ///< W: (3 out_size, out_size), no bias
  Child<Linear> W_h_f;    ///< W: (out_size, out_size), no bias
};

/// The same with a fixed number of children, each of which has a weight of its own for each gate.
/// Tai et al. 2015; chainer.links.NaryTreeLSTM.
class KUSARI_API NaryTreeLSTM : public Chain {
 public:
  /// in_size may be kInfer. n_ary: children of a node, at least 1.
  NaryTreeLSTM(int64_t in_size, int64_t out_size, int64_t n_ary = 2);

  /// cs, hs: n_ary each, undefined ones for zeros; otherwise as ChildSumTreeLSTM.
  functions::CellOutput operator()(std::span<const Variable> cs, std::span<const Variable> hs, const Variable& x) const;
  functions::CellOutput operator()(std::initializer_list<Variable> cs, std::initializer_list<Variable> hs,
                                   const Variable& x) const;
  int64_t n_ary() const noexcept { return static_cast<int64_t>(children_.size()); }

  Child<Linear> W_x;  ///< W: ((3 + n_ary) out_size, in_size), b: a, i, o, f_1, ..., as blocks
  /// For child k, from 0: W: ((3 + n_ary) out_size, out_size), no bias. Its name is "W_h1" for the first.
  /// Throws IndexError unless k < n_ary.
  Linear& W_h(size_t k);

 protected:
  size_t list_size() const noexcept override { return children_.size(); }
  Link& list_item(size_t index) override { return children_[index]; }
  std::string list_name(size_t index) const override { return "W_h" + std::to_string(index + 1); }
  size_t list_item_size(size_t) const noexcept override { return sizeof(Linear); }

 private:
  std::vector<Linear> children_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
