#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/loss/binary_tree.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct BinaryHierarchicalSoftmaxOptions {
  std::optional<Dtype> dtype = std::nullopt;  ///< of W; config.dtype when not given
  Initializer initial_w = {};                 ///< default: Uniform(1)
};

/// A softmax over many words whose cost grows with the logarithm of their number: a binary tree with a decision at each
/// node. x: (N, in_size), t: (N), words of the tree; returns the sum of -log p(t).
/// chainer.links.BinaryHierarchicalSoftmax.
class KUSARI_API BinaryHierarchicalSoftmax : public Link {
 public:
  using Options = BinaryHierarchicalSoftmaxOptions;
  BinaryHierarchicalSoftmax(int64_t in_size, const BinaryTree& tree, Options options = {});
  Variable operator()(const Variable& x, const Variable& t) const;

  /// See huffman_tree. Chainer takes the words in the order in which its dictionary got them.
  static BinaryTree create_huffman_tree(std::span<const std::pair<int64_t, double>> word_counts);
  static BinaryTree create_huffman_tree(std::initializer_list<std::pair<int64_t, double>> word_counts);

  Parameter W;  ///< (inner nodes of the tree, in_size)

 private:
  BinaryHierarchicalSoftmax(int64_t in_size, ParsedTree tree, Options options);

  mutable functions::TreePaths paths_;  // where the last x was
};

}  // namespace kusari::links
