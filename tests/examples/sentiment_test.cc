#include <fstream>

#include <doctest/doctest.h>

#include "kusari/examples/sentiment/nets.h"
#include "kusari/examples/sentiment/trees.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::sentiment_test {
namespace {

using testing::ScratchDirectory;

Tree parse(const std::string& text) { return TreeParser(text, "here").parse(); }

TEST_CASE("trees of a tree bank") {
  const Tree tree = parse(" (3 (2 It) (4 (2 's) (10 great)) ) ");
  REQUIRE(tree.size() == 5);
  CHECK(tree[0].word == "It");
  CHECK(tree[2].word == "great");
  CHECK(tree[2].label == 10);
  CHECK(tree[3].left == 1);
  CHECK(tree[3].right == 2);
  CHECK(tree[4].left == 0);
  CHECK(tree[4].right == 3);
  CHECK(tree[4].label == 3);

  const auto refused = [](const std::string& text, const std::string& what) {
    CHECK_THROWS_WITH_AS(parse(text), ("here: there is " + what).c_str(), ValueError);
  };
  refused("", "no \"(\" at column 1");
  refused("(x a)", "no label at column 3");
  refused("(1 )", "no word at column 4");
  refused("(1 (2 a))", "no \"(\" at column 9");
  refused("(1 a b)", "no \")\", as a node has one word or two trees at column 6");
  refused("(1 (2 a) (2 b) (2 c))", "no \")\", as a node has one word or two trees at column 16");
  refused("(1 a) (2 b)", "more behind the tree at column 7");

  const ScratchDirectory scratch;
  std::ofstream(scratch / "trees") << "(1 a)\n\n(2 b\n";
  CHECK_THROWS_WITH_AS(
      read_trees(scratch / "trees"),
      ((scratch / "trees") + ":3: there is no \")\", as a node has one word or two trees at column 5").c_str(),
      ValueError);
}

// The states of a tree by recursion.
template <class Net>
Variable state_of(const Net& net, const Tree& tree, const datasets::Vocabulary& words, int32_t node) {
  const TreeNode& n = tree[static_cast<size_t>(node)];
  if (n.left < 0) return net.leaves(Variable(words.encode(std::vector<std::string>{n.word})));
  return net.nodes(state_of(net, tree, words, n.left), state_of(net, tree, words, n.right));
}

template <class Net>
void check_loss() {
  const std::vector<Tree> trees = {parse("(1 (0 a) (1 (0 b) (1 (1 c) (0 a))))"), parse("(0 b)"),
                                   parse("(1 (1 (1 a) (0 b)) (0 (0 c) (1 c)))")};
  const datasets::Vocabulary words(std::vector<std::string>{"a", "b", "c"});
  TreeClassifier<Net> model(Net(3, 4), 4, 2);
  std::vector<datasets::Example> batch;
  double sum = 0;
  for (const Tree& tree : trees) {
    TreeDataset one;
    one.add(tree, words);
    batch.push_back(one.get(0));
    for (size_t i = 0; i < tree.size(); ++i) {
      const Net& net = model.net;
      const Variable scores = model.w(net.seen(state_of(net, tree, words, static_cast<int32_t>(i))));
      sum += F::softmax_cross_entropy(scores, Variable(array({tree[i].label}), false)).array().template item<double>();
    }
  }
  const datasets::Example joined = join_trees(batch, Device());
  REQUIRE(joined.size() == 6);
  CHECK(joined[5].to_vector<int32_t>() == std::vector<int32_t>{6, 7, 14});
  std::vector<Variable> columns;
  for (const Array& column : joined) columns.emplace_back(column, false);
  const Variable loss = model(columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]);
  CHECK(loss.array().item<double>() == doctest::Approx(sum / 3).epsilon(1e-5));
}

TEST_CASE("nodes of equal height of all trees at once give what recursion gives") {
  SUBCASE("recursive") { check_loss<RecursiveNet>(); }
  SUBCASE("childsum") { check_loss<TreeLSTM<L::ChildSumTreeLSTM>>(); }
  SUBCASE("nary") { check_loss<TreeLSTM<L::NaryTreeLSTM>>(); }
}

TEST_CASE("generated trees: \"not\" turns what it is before around") {
  TreeGenerator generator;
  for (int i = 0; i < 50; ++i) {
    const Tree tree = generator.draw(2);
    for (const TreeNode& node : tree) {
      CHECK((node.left < 0) == !node.word.empty());
      CHECK(node.label >= 0);
      CHECK(node.label <= 4);
      if (node.left >= 0 && tree[static_cast<size_t>(node.left)].word == "not") {
        CHECK(node.label == 4 - tree[static_cast<size_t>(node.right)].label);
      }
    }
  }
}

}  // namespace
}  // namespace kusari::sentiment_test
