#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/lines.h"

// Mushrooms of the kind that the data set of the Audubon Society Field Guide has (archive.ics.uci.edu/dataset/73): a
// class, e or p, and letters for what is seen of each. Here they are drawn, and what smells of spice or fish, or has
// narrow gills and pale spores, is poisonous.
inline void write_mushrooms(const std::string& path, int64_t count, uint64_t seed = 0) {
  using namespace kusari;
  const std::vector<std::pair<std::string, std::string>> kColumns{
      {"cap-shape", "bcxfks"},     {"cap-surface", "fgys"},
      {"cap-color", "nbcgrpuewy"}, {"bruises", "tf"},
      {"odor", "alcyfmnps"},       {"gill-size", "bn"},
      {"stalk-shape", "et"},       {"stalk-root", "bcuezr"},
      {"ring-type", "ceflnps"},    {"spore-print-color", "knbhrouwy"},
      {"population", "acnsvy"},    {"habitat", "glmpuwd"}};
  datasets::ExampleRandom random(seed);
  std::ofstream file(path);
  file << "class";
  for (const auto& [name, letters] : kColumns) file << ',' << name;
  file << '\n';
  for (int64_t i = 0; i < count; ++i) {
    std::map<std::string, char> seen;
    std::string row;
    for (const auto& [name, letters] : kColumns) {
      seen[name] = letters[static_cast<size_t>(random.integer(static_cast<int64_t>(letters.size())))];
      row += std::string(",") + seen[name];
    }
    const bool smells = seen["odor"] >= 'p';  // pungent, spicy, fishy
    const bool is_pale = seen["spore-print-color"] >= 'u' && seen["gill-size"] == 'n';
    file << (smells || is_pale ? 'p' : 'e') << row << '\n';
  }
}

// A file of letters between commas, with a line of names: each letter becomes its place among those of its column. The
// first column is the target, (1) of int32, 0 for the first letter; the others are the inputs, float32.
inline kusari::datasets::TupleDataset read_mushrooms(const std::string& path) {
  using namespace kusari;
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : read_lines(path)) {
    std::istringstream stream(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (!rows.empty() && cells.size() != rows.front().size()) throw IoError(path + ": lines have different lengths");
    rows.push_back(std::move(cells));
  }
  if (rows.size() < 3) throw IoError(path + " has too few lines");
  rows.erase(rows.begin());
  const size_t columns = rows.front().size();
  std::vector<float> x;
  std::vector<int32_t> t;
  std::vector<std::set<std::string>> letters(columns);
  for (const auto& row : rows) {
    for (size_t c = 0; c < columns; ++c) letters[c].insert(row[c]);
  }
  for (const auto& row : rows) {
    for (size_t c = 0; c < columns; ++c) {
      const auto place = std::distance(letters[c].begin(), letters[c].find(row[c]));
      if (c == 0) {
        t.push_back(static_cast<int32_t>(place));
      } else {
        x.push_back(static_cast<float>(place));
      }
    }
  }
  const auto n = static_cast<int64_t>(rows.size());
  return datasets::TupleDataset(array(x, {n, static_cast<int64_t>(columns) - 1}), array(t, {n, 1}));
}
