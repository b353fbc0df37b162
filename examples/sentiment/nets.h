#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

// What a tree's nodes are made of: the states of leaves, and of nodes from those of their two children, one node in
// each row; and what of a state is seen by what follows.

// Socher et al. 2011, Chainer's example: a state is a vector.
class RecursiveNet : public kusari::Chain {
 public:
  RecursiveNet(int64_t words, int64_t units) : embed{*this, "embed", words, units}, l{*this, "l", 2 * units, units} {}
  kusari::Variable leaves(const kusari::Variable& words) const { return embed(words); }
  kusari::Variable nodes(const kusari::Variable& left, const kusari::Variable& right) const {
    return kusari::F::tanh(l(kusari::F::concat({left, right}, 1)));
  }
  kusari::Variable seen(const kusari::Variable& states) const { return states; }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::Linear> l;
};

// Tai et al. 2015: a state is c and h of a long short-term memory, side by side. Cell: L::ChildSumTreeLSTM, which takes
// children in any order, or L::NaryTreeLSTM.
template <class Cell>
class TreeLSTM : public kusari::Chain {
 public:
  TreeLSTM(int64_t words, int64_t units) : embed{*this, "embed", words, units}, cell{*this, "cell", units, units} {}
  kusari::Variable leaves(const kusari::Variable& words) const { return join(cell({}, {}, embed(words))); }
  kusari::Variable nodes(const kusari::Variable& left, const kusari::Variable& right) const {
    const auto l = kusari::F::split_axis(left, 2, 1), r = kusari::F::split_axis(right, 2, 1);
    return join(cell({l[0], r[0]}, {l[1], r[1]}, {}));
  }
  kusari::Variable seen(const kusari::Variable& states) const { return kusari::F::split_axis(states, 2, 1)[1]; }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<Cell> cell;

 private:
  static kusari::Variable join(const kusari::F::CellOutput& output) {
    return kusari::F::concat({output.c, output.h}, 1);
  }
};

// The label of each node. All nodes of equal height are computed together, whatever trees they are of.
template <class Net>
class TreeClassifier : public kusari::Chain {
 public:
  TreeClassifier(Net of_trees, int64_t units, int64_t labels)
      : net{*this, "net", std::move(of_trees)}, w{*this, "w", units, labels} {}

  // What join_trees gives. Returns the loss of a tree, which is that of all its nodes, the mean of a batch.
  kusari::Variable operator()(const kusari::Variable& words, const kusari::Variable& left,
                              const kusari::Variable& right, const kusari::Variable& heights,
                              const kusari::Variable& labels, const kusari::Variable& roots) {
    using namespace kusari;
    const auto height = heights.array().to_vector<int64_t>();
    std::vector<int64_t> order(height.size());  // by height
    std::iota(order.begin(), order.end(), 0);
    const auto at = [](const std::vector<int64_t>& list, int64_t i) { return list[static_cast<size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at(height, a) < at(height, b); });
    std::vector<int64_t> place(order.size());  // of each node in this order
    for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);

    const auto here = [&](const std::vector<int64_t>& list) { return array(list).to_device(device()); };
    const auto row_of = [&](const Variable& column, auto begin, auto end) {
      const auto values = column.array().to_vector<int64_t>();
      std::vector<int64_t> picked;
      for (auto i = begin; i != end; ++i) picked.push_back(at(values, *i));
      return picked;
    };
    Variable states;
    for (auto begin = order.begin(), end = begin; begin != order.end(); begin = end) {
      end = std::find_if(begin, order.end(), [&](int64_t node) { return at(height, node) != at(height, *begin); });
      if (at(height, *begin) == 0) {
        states = net.leaves(Variable(here(row_of(words, begin, end)), false));
        continue;
      }
      const auto children = [&](const Variable& column) {
        std::vector<int64_t> places;
        for (const int64_t child : row_of(column, begin, end)) places.push_back(at(place, child));
        return F::get_item(states, here(places));
      };
      states = F::concat({states, net.nodes(children(left), children(right))}, 0);
    }

    const Variable scores = w(net.seen(states)), t(here(row_of(labels, order.begin(), order.end())), false);
    const Variable sum = F::sum(F::softmax_cross_entropy(scores, t, {.reduce = F::Reduce::no}));
    const Variable loss = sum / static_cast<double>(roots.size());
    const Array right_ones = (F::argmax(scores, 1).array() == t.array()).astype(Dtype::float32);
    std::vector<int64_t> root_places;
    for (const int64_t root : roots.array().to_vector<int64_t>()) root_places.push_back(at(place, root));
    report({{"loss", loss},
            {"correct_nodes", xp::sum(right_ones)},
            {"nodes", t.size()},
            {"correct_roots", xp::sum(F::get_item(Variable(right_ones, false), here(root_places)).array())},
            {"roots", roots.size()}},
           *this);
    return loss;
  }

  kusari::Child<Net> net;
  kusari::Child<kusari::L::Linear> w;
};
