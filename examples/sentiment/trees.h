#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/lines.h"

// A node of a binary tree, whose nodes are a list in which children stand before their parent: the root is the last.
struct TreeNode {
  int32_t label = 0;
  std::string word;               // of a leaf
  int32_t left = -1, right = -1;  // places of the children; -1: a leaf
};
using Tree = std::vector<TreeNode>;

// "(3 (2 a) (4 b))", as the Stanford Sentiment Treebank has its trees: a label, then a word or two trees.
class TreeParser {
 public:
  // `where` begins the messages of ValueErrors.
  TreeParser(const std::string& text, const std::string& where) : text_{text}, where_{where} {}
  Tree parse() {
    parse_node();
    skip_blanks();
    if (at_ != text_.size()) fail("more behind the tree");
    return std::move(tree_);
  }

 private:
  int32_t parse_node() {
    if (next() != '(') fail("no \"(\"");
    ++at_;
    TreeNode node;
    const std::string label = token();
    if (label.empty() || label.size() > 3 || !std::all_of(label.begin(), label.end(), is_digit)) {
      fail("no label");
    }
    node.label = std::stoi(label);
    if (next() == '(') {
      node.left = parse_node();
      node.right = parse_node();
    } else {
      node.word = token();
      if (node.word.empty()) fail("no word");
    }
    if (next() != ')') fail("no \")\", as a node has one word or two trees");
    ++at_;
    tree_.push_back(std::move(node));
    return static_cast<int32_t>(tree_.size()) - 1;
  }
  std::string token() {
    skip_blanks();
    const size_t end = std::min(text_.find_first_of("() \t", at_), text_.size());
    std::string result = text_.substr(at_, end - at_);
    at_ = end;
    return result;
  }
  char next() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  [[noreturn]] void fail(const std::string& what) const {
    throw kusari::ValueError(where_ + ": there is " + what + " at column " + std::to_string(at_ + 1));
  }

  const std::string& text_;
  std::string where_;
  size_t at_ = 0;
  Tree tree_;
};

// A tree on each line that is not empty.
inline std::vector<Tree> read_trees(const std::string& path) {
  const std::vector<std::string> lines = read_lines(path);
  std::vector<Tree> trees;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    trees.push_back(TreeParser(lines[i], path + ":" + std::to_string(i + 1)).parse());
  }
  return trees;
}

// Opinions, from 0, very bad, to 4, very good: words have one, "very" makes it stronger, "not" turns it around, and two
// things add up; "but" lets the second count alone.
class TreeGenerator {
 public:
  Tree draw(int depth) {
    tree_.clear();
    thing(depth);
    return tree_;
  }

 private:
  static uint64_t below(uint64_t n) { return kusari::random::bits() % n; }
  // value: -2 .. 2. Returns the place of the node.
  int32_t add(int value, const std::string& word, int32_t left = -1, int32_t right = -1) {
    tree_.push_back({value + 2, word, left, right});
    return static_cast<int32_t>(tree_.size()) - 1;
  }
  int32_t join(int value, int32_t left, int32_t right) { return add(value, "", left, right); }
  int value(int32_t node) const { return tree_[static_cast<size_t>(node)].label - 2; }

  int32_t quality() {
    if (below(3) == 0) {
      const int32_t very = add(0, "very"), word = quality();
      const int stronger = value(word) == 0 ? 0 : (value(word) > 0 ? 2 : -2);
      return join(stronger, very, word);
    }
    static const std::vector<std::vector<std::string>> words = {
        {"awful"}, {"dull", "weak", "slow"}, {"long", "quiet"}, {"funny", "clever", "warm"}, {"great"}};
    const uint64_t label = below(words.size());
    return add(static_cast<int>(label) - 2, words[label][below(words[label].size())]);
  }
  int32_t thing(int depth) {
    static const std::vector<std::string> nouns = {"film", "plot", "cast", "music"};
    if (depth <= 0) {
      const int32_t is = quality(), noun = add(0, nouns[below(nouns.size())]);
      return join(value(is), is, noun);
    }
    const uint64_t kind = below(4);
    if (kind == 0) {
      const int32_t no = add(0, "not"), of = thing(depth - 1);
      return join(-value(of), no, of);
    }
    const int32_t first = thing(depth - 1), link = add(0, kind == 1 ? "but" : "and");
    const int32_t second = thing(depth - 1), tail = join(value(second), link, second);
    return join(kind == 1 ? value(second) : std::clamp(value(first) + value(second), -2, 2), first, tail);
  }

  Tree tree_;
};

// Examples: of the nodes of a tree the word (-1: no leaf), the left and the right child, how many nodes the longest way
// down has (0: a leaf), and the label, each int32 of shape (nodes).
class TreeDataset : public kusari::datasets::Dataset {
 public:
  void add(const Tree& tree, const kusari::datasets::Vocabulary& words) {
    std::vector<int32_t> word, left, right, height, label;
    for (const TreeNode& node : tree) {
      const bool is_leaf = node.left < 0;
      word.push_back(is_leaf ? words.encode(std::vector<std::string>{node.word}).item<int32_t>() : -1);
      left.push_back(node.left);
      right.push_back(node.right);
      const auto of = [&](int32_t child) { return height[static_cast<size_t>(child)]; };
      height.push_back(is_leaf ? 0 : 1 + std::max(of(node.left), of(node.right)));
      label.push_back(node.label);
    }
    using kusari::array;
    trees_.push_back({array(word), array(left), array(right), array(height), array(label)});
  }
  int64_t size() const override { return static_cast<int64_t>(trees_.size()); }
  kusari::datasets::Example get(int64_t i) const override {
    check_index("TreeDataset", i, size());
    return trees_[static_cast<size_t>(i)];
  }

 private:
  std::vector<kusari::datasets::Example> trees_;
};

// A converter: the nodes of all trees as one list, and the places of the roots there. They stay on the host, where the
// model finds out what can be computed together.
inline kusari::datasets::Example join_trees(std::span<const kusari::datasets::Example> batch, const kusari::Device&) {
  std::vector<std::vector<int32_t>> columns(5);
  std::vector<int32_t> roots;
  for (const auto& tree : batch) {
    const auto before = static_cast<int32_t>(columns[0].size());
    for (size_t k = 0; k < columns.size(); ++k) {
      const bool is_place = k == 1 || k == 2;
      for (const int32_t x : tree[k].to_vector<int32_t>()) columns[k].push_back(is_place ? x + before : x);
    }
    roots.push_back(static_cast<int32_t>(columns[0].size()) - 1);
  }
  kusari::datasets::Example joined;
  for (const auto& column : columns) joined.push_back(kusari::array(column));
  joined.push_back(kusari::array(roots));
  return joined;
}

struct TreeBank {
  kusari::datasets::Vocabulary words;
  int64_t labels = 0;
  TreeDataset train, test;
};

// Of the files, or generated ones without any. Words that come less than twice in the training trees are one, "<unk>".
inline TreeBank load_tree_bank(const std::string& train_path, const std::string& test_path) {
  using namespace kusari;
  std::vector<Tree> train, test;
  if (train_path.empty()) {
    const random::LocalStream same_trees(1);
    TreeGenerator generator;
    for (int i = 0; i < 1200; ++i) (i < 1000 ? train : test).push_back(generator.draw(1 + i % 2));
  } else {
    train = read_trees(train_path);
    test = read_trees(test_path);
  }
  TreeBank bank;
  std::vector<std::string> words;
  for (const auto* part : {&train, &test}) {
    for (const Tree& tree : *part) {
      for (const TreeNode& node : tree) {
        bank.labels = std::max<int64_t>(bank.labels, node.label + 1);
        if (part == &train && node.left < 0) words.push_back(node.word);
      }
    }
  }
  bank.words = datasets::Vocabulary(words, {.min_count = 2, .unknown = "<unk>"});
  for (const Tree& tree : train) bank.train.add(tree, bank.words);
  for (const Tree& tree : test) bank.test.add(tree, bank.words);
  return bank;
}
