#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/functions/loss/binary_hierarchical_softmax.h"

namespace kusari::links {

/// A binary tree with words, numbers from 0, as leaves: `BinaryTree({0, 1}, 2)`. Copies share the nodes.
class KUSARI_API BinaryTree {
 public:
  /// A leaf. Throws ValueError for a word that is negative or not less than 2^31.
  BinaryTree(int64_t word);
  BinaryTree(BinaryTree left, BinaryTree right);

  bool is_leaf() const noexcept { return branches_ == nullptr; }
  /// Of a leaf.
  int64_t word() const noexcept { return word_; }
  /// Of an inner node. Throws StateError for a leaf.
  const BinaryTree& left() const;
  const BinaryTree& right() const;

 private:
  struct Branches;

  const Branches& branches() const;

  int64_t word_ = -1;
  Shared<const Branches> branches_;
};

/// As Chainer prints it: "((0, 1), 2)".
KUSARI_API std::string to_string(const BinaryTree& tree);

/// The tree in which frequent words have short ways: Huffman's. Of equal counts those earlier in the list are joined
/// first, and an inner node stands where its earliest word stood. word_counts: words and how often they come. Throws
/// ValueError for an empty list. Huffman 1952.
KUSARI_API BinaryTree huffman_tree(std::span<const std::pair<int64_t, double>> word_counts);

/// The ways to the words; inner nodes are numbered from the root on, left before right. `inner_nodes` is their number.
/// Throws ValueError for a word that comes twice.
struct ParsedTree {
  functions::TreePaths paths;
  int64_t inner_nodes = 0;
};
KUSARI_API ParsedTree parse(const BinaryTree& tree);

}  // namespace kusari::links
