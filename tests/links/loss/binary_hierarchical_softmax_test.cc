#include "kusari/framework/links/loss/binary_hierarchical_softmax.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"

namespace kusari::testing {
namespace {

using links::BinaryTree;
using Link = links::BinaryHierarchicalSoftmax;

TEST_CASE("BinaryHierarchicalSoftmax gives words probabilities that sum to 1") {
  Link link(3, BinaryTree({0, 1}, {{2, 3}, 4}));
  CHECK(link.namedparams().at(0).first == "/W");
  CHECK(link.W.shape() == Shape{4, 3});
  for (const double w : link.W.to_vector<double>()) CHECK(std::abs(w) <= 1);
  const Variable x(array<float>({1, 2, 3}, {1, 3}));
  double total = 0;
  for (int word = 0; word < 5; ++word) total += std::exp(-link(x, array<int>({word})).item<double>());
  CHECK(total == doctest::Approx(1));
}

TEST_CASE("BinaryHierarchicalSoftmax numbers nodes from the root on, left first") {
  // Chainer's: the root is row 0, its left branch row 1, its right branch row 2; left is +1.
  const links::ParsedTree parsed = links::parse(BinaryTree({0, 1}, {2, 4}));
  CHECK(parsed.inner_nodes == 3);
  CHECK(parsed.paths.paths.to_vector<int>() == std::vector<int>{0, 1, 0, 1, 0, 2, -1, -1, 0, 2});
  CHECK(parsed.paths.codes.to_vector<double>() == std::vector<double>{1, 1, 1, -1, -1, 1, 0, 0, -1, -1});
}

TEST_CASE("BinaryHierarchicalSoftmax of a word that is no leaf costs nothing") {
  Link link(2, BinaryTree(0, 2));
  const Variable x(ones({1, 2}));
  CHECK(link(x, array<int>({1})).item<double>() == 0);
  CHECK_THROWS_AS(link(x, array<int>({3})), IndexError);
  Link single(2, BinaryTree(0));
  CHECK(single.W.shape() == Shape{0, 2});
  CHECK(single(x, array<int>({0})).item<double>() == 0);
}

TEST_CASE("BinaryHierarchicalSoftmax's options") {
  CHECK(Link(2, BinaryTree(0, 1), {.dtype = Dtype::float64}).W.dtype() == Dtype::float64);
  CHECK(Link(2, BinaryTree(0, 1), {.initial_w = 3}).W.to_vector<double>() == std::vector<double>{3, 3});
  const auto half = using_config(&Config::dtype, DtypePolicy(Dtype::float16));
  Link link(2, BinaryTree(0, 1));
  CHECK(link.W.dtype() == Dtype::float16);
  CHECK(link(Variable(ones({1, 2}, Dtype::float16)), array<int>({1})).dtype() == Dtype::float16);
}

TEST_CASE("create_huffman_tree") {
  // Chainer's documentation and test.
  CHECK(to_string(Link::create_huffman_tree({{0, 8}, {1, 5}, {2, 6}, {3, 4}})) == "((3, 1), (2, 0))");
  CHECK(to_string(Link::create_huffman_tree({{0, 8}, {1, 6}, {2, 5}, {3, 4}, {4, 3}})) == "((2, 1), ((4, 3), 0))");
  // Ties go by place in the list, not by word.
  CHECK(to_string(Link::create_huffman_tree({{5, 1}, {3, 1}, {4, 1}})) == "(4, (5, 3))");
  CHECK(to_string(Link::create_huffman_tree({{3, 1}})) == "3");
  CHECK_THROWS_WITH_AS(Link::create_huffman_tree({}), "huffman_tree: word_counts is empty", ValueError);
}

TEST_CASE("BinaryTree of what is no tree of words") {
  CHECK_THROWS_WITH_AS(BinaryTree(-1), "BinaryTree: word -1 must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(links::parse(BinaryTree({0, 1}, 1)), "BinaryTree: word 1 comes twice", ValueError);
}

}  // namespace
}  // namespace kusari::testing
