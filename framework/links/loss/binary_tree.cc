#include "kusari/framework/links/loss/binary_tree.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"

namespace kusari::links {

namespace {
constexpr int64_t kMostWords = int64_t{1} << 31;
}  // namespace

struct BinaryTree::Branches {
  BinaryTree left, right;
};

BinaryTree::BinaryTree(int64_t word) : word_{word} {
  if (word < 0) throw ValueError("BinaryTree: word " + std::to_string(word) + " must not be negative");
  if (word >= kMostWords) {
    throw ValueError("BinaryTree: word " + std::to_string(word) + " must be less than 2^31: there is a row for each");
  }
}

BinaryTree::BinaryTree(BinaryTree left, BinaryTree right)
    : branches_{std::make_shared<const Branches>(Branches{std::move(left), std::move(right)})} {}

const BinaryTree::Branches& BinaryTree::branches() const {
  if (is_leaf()) throw StateError("BinaryTree: word " + std::to_string(word_) + " is a leaf: it has no branches");
  return *branches_;
}

const BinaryTree& BinaryTree::left() const { return branches().left; }
const BinaryTree& BinaryTree::right() const { return branches().right; }

std::string to_string(const BinaryTree& tree) {
  if (tree.is_leaf()) return std::to_string(tree.word());
  return "(" + to_string(tree.left()) + ", " + to_string(tree.right()) + ")";
}

BinaryTree huffman_tree(std::span<const std::pair<int64_t, double>> word_counts) {
  if (word_counts.empty()) throw ValueError("huffman_tree: word_counts is empty");
  std::vector<BinaryTree> trees;  // by the place of their earliest word
  using Entry = std::pair<double, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const auto& [word, count] : word_counts) {
    queue.emplace(count, trees.size());
    trees.emplace_back(word);
  }
  const auto pop = [&] {
    const Entry top = queue.top();
    queue.pop();
    return top;
  };
  while (queue.size() >= 2) {
    const auto [count1, place1] = pop();
    const auto [count2, place2] = pop();
    const size_t place = std::min(place1, place2);
    trees[place] = BinaryTree(trees[place1], trees[place2]);
    queue.emplace(count1 + count2, place);
  }
  return trees[queue.top().second];
}

ParsedTree parse(const BinaryTree& tree) {
  struct Visit {
    const BinaryTree* node;
    size_t depth;
    float code;  // of the step that leads here
  };
  struct Leaf {
    int64_t word;
    std::vector<int32_t> path;
    std::vector<float> codes;
  };
  std::vector<Visit> stack = {{&tree, 0, 0}};
  std::vector<int32_t> path;
  std::vector<float> codes;
  std::vector<Leaf> leaves;
  int32_t inner_nodes = 0;
  int64_t words = 0;
  size_t steps = 0;
  while (!stack.empty()) {
    const Visit visit = stack.back();
    stack.pop_back();
    path.resize(visit.depth);
    codes.resize(visit.depth);
    if (visit.depth > 0) codes.back() = visit.code;
    if (visit.node->is_leaf()) {
      leaves.push_back({visit.node->word(), path, codes});
      words = std::max(words, visit.node->word() + 1);
      steps = std::max(steps, visit.depth);
      continue;
    }
    path.push_back(inner_nodes++);
    stack.push_back({&visit.node->right(), visit.depth + 1, -1});
    stack.push_back({&visit.node->left(), visit.depth + 1, 1});
  }
  const Shape shape{words, static_cast<int64_t>(steps)};
  std::vector<int32_t> all_paths = host_vector<int32_t>(shape, "BinaryTree", -1);
  std::vector<float> all_codes = host_vector<float>(shape, "BinaryTree");
  std::vector<bool> is_seen = host_vector<bool>({words}, "BinaryTree");
  for (const Leaf& leaf : leaves) {
    const size_t word = static_cast<size_t>(leaf.word);
    if (is_seen[word]) throw ValueError("BinaryTree: word " + std::to_string(leaf.word) + " comes twice");
    is_seen[word] = true;
    std::copy(leaf.path.begin(), leaf.path.end(), all_paths.begin() + static_cast<std::ptrdiff_t>(word * steps));
    std::copy(leaf.codes.begin(), leaf.codes.end(), all_codes.begin() + static_cast<std::ptrdiff_t>(word * steps));
  }
  return {{array(all_paths, shape), array(all_codes, shape)}, inner_nodes};
}

}  // namespace kusari::links
