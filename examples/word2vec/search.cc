// Prints the words whose vectors, as train_word2vec saved them, are nearest to that of a word.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"

using namespace kusari;

namespace {

constexpr size_t kResults = 5;  // words to show

struct Arguments : Flags {
  std::string result = text("--result", "result", "Directory of a training result");
  std::vector<std::string> words = value<std::vector<std::string>>(
      "words", {}, "Words to search for; without any they are read from the standard input");
};

struct Vectors {
  std::vector<std::string> words;
  std::unordered_map<std::string, int64_t> places;
  Array unit;  // (words, units), each of length 1
};

Vectors load(const std::string& path) {
  std::ifstream file(path);
  int64_t n_vocab = 0, n_units = 0;
  if (!(file >> n_vocab >> n_units) || n_vocab < 1 || n_units < 1) throw IoError(path + " has no vectors of words");
  Vectors vectors;
  std::vector<float> values;
  std::string word;
  while (static_cast<int64_t>(vectors.words.size()) < n_vocab && file >> word) {
    vectors.places[word] = static_cast<int64_t>(vectors.words.size());
    vectors.words.push_back(word);
    for (int64_t i = 0; i < n_units; ++i) {
      float value = 0;
      if (!(file >> value)) throw IoError(path + ": the vector of \"" + word + "\" is cut off");
      values.push_back(value);
    }
  }
  if (static_cast<int64_t>(vectors.words.size()) != n_vocab) throw IoError(path + " has fewer words than it says");
  const Variable w(array(values, {n_vocab, n_units}), false);
  vectors.unit = (w / F::sqrt(F::sum(w * w, 1, true))).array();
  return vectors;
}

void search(const Vectors& vectors, const std::string& query) {
  const auto found = vectors.places.find(query);
  if (found == vectors.places.end()) {
    std::printf("\"%s\" is not found\n", query.c_str());
    return;
  }
  const auto similarity = F::matmul(vectors.unit, vectors.unit.at(found->second)).to_vector<float>();
  std::vector<size_t> order;
  for (size_t i = 0; i < similarity.size(); ++i) {
    if (!std::isnan(similarity[i]) && static_cast<int64_t>(i) != found->second) order.push_back(i);
  }
  const size_t n = std::min(kResults, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    [&](size_t a, size_t b) { return similarity[a] > similarity[b]; });
  std::printf("query: %s\n", query.c_str());
  for (size_t i = 0; i < n; ++i) {
    std::printf("%s: %g\n", vectors.words[order[i]].c_str(), static_cast<double>(similarity[order[i]]));
  }
}

void run(const Arguments& args) {
  const Vectors vectors = load((std::filesystem::path(args.result) / "word2vec.model").string());
  for (const std::string& word : args.words) search(vectors, word);
  if (!args.words.empty()) return;
  std::string word;
  while (std::printf(">> "), std::fflush(stdout), std::cin >> word) search(vectors, word);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: words with similar vectors", run);
}
