#include "kusari/framework/links/loss/binary_hierarchical_softmax.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/initializers/uniform.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

BinaryHierarchicalSoftmax::BinaryHierarchicalSoftmax(int64_t in_size, const BinaryTree& tree, Options options)
    : BinaryHierarchicalSoftmax(in_size, parse(tree), std::move(options)) {}

BinaryHierarchicalSoftmax::BinaryHierarchicalSoftmax(int64_t in_size, ParsedTree tree, Options options)
    : W{*this,
        "W",
        {tree.inner_nodes, argument::not_negative("L::BinaryHierarchicalSoftmax", "in_size", in_size)},
        options.initial_w ? std::move(options.initial_w) : Initializer(initializers::Uniform(1)),
        options.dtype},
      paths_{std::move(tree.paths)} {}

Variable BinaryHierarchicalSoftmax::operator()(const Variable& x, const Variable& t) const {
  const LinkCall call(*this);
  functions::expect_given(x, "F::binary_hierarchical_softmax", "x");
  const Device& device = x.device();
  if (paths_.paths.device() != device) paths_ = {paths_.paths.to_device(device), paths_.codes.to_device(device)};
  return functions::binary_hierarchical_softmax(x, t, W, paths_);
}

BinaryTree BinaryHierarchicalSoftmax::create_huffman_tree(std::span<const std::pair<int64_t, double>> word_counts) {
  return huffman_tree(word_counts);
}

BinaryTree BinaryHierarchicalSoftmax::create_huffman_tree(
    std::initializer_list<std::pair<int64_t, double>> word_counts) {
  return huffman_tree({word_counts.begin(), word_counts.size()});
}

}  // namespace kusari::links
