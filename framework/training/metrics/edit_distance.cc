#include "kusari/framework/training/metrics/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/utf8.h"

namespace kusari::metrics {
namespace {

template <class T>
int64_t count_edits(std::span<const T> a, std::span<const T> b) {
  // What is alike at both ends costs nothing.
  const auto begin = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  a = a.subspan(static_cast<size_t>(begin));
  b = b.subspan(static_cast<size_t>(begin));
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
  a = a.first(a.size() - static_cast<size_t>(end));
  b = b.first(b.size() - static_cast<size_t>(end));
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<int64_t> row(b.size() + 1);  // row[j]: from what came of a so far to b's first j elements
  std::iota(row.begin(), row.end(), int64_t{0});
  for (const T& element : a) {
    int64_t diagonal = row[0]++;
    for (size_t j = 1; j < row.size(); ++j) {
      const int64_t replaced = diagonal + (element == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min(replaced, std::min(row[j], row[j - 1]) + 1);
    }
  }
  return row.back();
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t at = 0; at < text.size(); at += result.back().size()) {
    result.push_back(text.substr(at, std::max<size_t>(utf8_character_size(text, at), 1)));
  }
  return result;
}

template <class T, class Elements>
ErrorRate error_rate(const char* call, std::span<const T> hypotheses, std::span<const T> references,
                     const Elements& elements) {
  const std::string begin = std::string("metrics::") + call + ": ";
  if (hypotheses.size() != references.size()) {
    throw ValueError(begin + "there are " + std::to_string(hypotheses.size()) + " hypotheses and " +
                     std::to_string(references.size()) + " references: they must be as many");
  }
  ErrorRate result{0, 0, 0};
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    const auto expected = elements(references[i]);
    using Element = typename std::remove_const_t<decltype(expected)>::value_type;
    result.edits += count_edits<Element>(elements(hypotheses[i]), expected);
    result.reference_length += std::ssize(expected);
  }
  if (result.reference_length == 0) throw ValueError(begin + "references are empty: there must be something in one");
  result.rate = static_cast<double>(result.edits) / static_cast<double>(result.reference_length);
  return result;
}

}  // namespace

int64_t edit_distance(std::span<const int32_t> a, std::span<const int32_t> b) { return count_edits(a, b); }
int64_t edit_distance(std::span<const int64_t> a, std::span<const int64_t> b) { return count_edits(a, b); }
int64_t edit_distance(std::span<const std::string> a, std::span<const std::string> b) { return count_edits(a, b); }
int64_t edit_distance(std::string_view a, std::string_view b) {
  return count_edits<std::string_view>(characters(a), characters(b));
}

ErrorRate word_error_rate(std::span<const std::vector<std::string>> hypotheses,
                          std::span<const std::vector<std::string>> references) {
  return error_rate("word_error_rate", hypotheses, references,
                    [](const std::vector<std::string>& words) { return std::span<const std::string>(words); });
}

ErrorRate character_error_rate(std::span<const std::string> hypotheses, std::span<const std::string> references) {
  return error_rate("character_error_rate", hypotheses, references, characters);
}

ErrorRate label_error_rate(std::span<const std::vector<int32_t>> hypotheses,
                           std::span<const std::vector<int32_t>> references) {
  return error_rate("label_error_rate", hypotheses, references,
                    [](const std::vector<int32_t>& labels) { return std::span<const int32_t>(labels); });
}

}  // namespace kusari::metrics
