#include "kusari/framework/training/unseen_keys.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "kusari/framework/core/log.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training {
namespace {

constexpr size_t kRowsBeforeGuess = 3;
constexpr size_t kMostDistance = 3;

/// Insertions, deletions and replacements of characters that make one text the other (Levenshtein 1966); case is none.
size_t distance_between(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

bool is_below(const std::string& key, const std::string& prefix) { return key.rfind(prefix + "/", 0) == 0; }

bool is_last_part(const std::string& part, const std::string& key) {
  const std::string end = "/" + part;
  return key.size() > end.size() && key.compare(key.size() - end.size(), end.size(), end) == 0;
}

std::string with_guess(const std::string& key, const std::vector<std::string>& similar) {
  std::string text = "'" + key + "'";
  for (size_t i = 0; i < similar.size(); ++i) text += (i == 0 ? " (is '" : " or '") + similar[i] + "'";
  return similar.empty() ? text : text + " meant?)";
}

}  // namespace

UnseenKeys::UnseenKeys(std::vector<std::string> wanted)
    : unseen_{std::move(wanted)}, wanted_{unseen_.begin(), unseen_.end()} {}

void UnseenKeys::begin(const Trainer& trainer) {
  reporters_.clear();
  for (const Trainer::ExtensionSummary& extension : trainer.extensions()) reporters_.push_back(extension.name);
}

void UnseenKeys::see(const std::string& key) {
  if (seen_.insert(key).second) std::erase(unseen_, key);
}

std::vector<std::string> UnseenKeys::similar(const std::string& key) const {
  std::vector<std::string> result;
  const size_t most = std::clamp<size_t>(key.size() / 4, 1, kMostDistance);
  for (const std::string& other : seen_) {
    if (wanted_.count(other) != 0) continue;  // both were meant
    if (is_last_part(key, other) || is_last_part(other, key) || distance_between(key, other) <= most) {
      result.push_back(other);
    }
  }
  return result;
}

void UnseenKeys::warn_of_misspelt(std::string_view text) {
  if (rows_ < kRowsBeforeGuess) return;
  std::vector<std::string> rest;
  for (const std::string& key : unseen_) {
    const std::string reporter = key.substr(0, key.find('/'));
    const bool may_come = key != reporter && std::none_of(seen_.begin(), seen_.end(), [&](const std::string& other) {
                            return is_below(other, reporter);
                          });
    const std::vector<std::string> others = similar(key);
    const bool is_other_quantity = may_come && std::all_of(others.begin(), others.end(), [&](const std::string& other) {
                                     return is_last_part(other, key);  // "validation/main/loss" beside "main/loss"
                                   });
    if (others.empty() || is_other_quantity) {
      rest.push_back(key);
    } else {
      log::warn(std::string(text) + with_guess(key, others));
    }
  }
  unseen_ = std::move(rest);
}

void UnseenKeys::warn_of_missing(std::string_view text) {
  if (!is_used_) return;
  for (const std::string& key : unseen_) {
    const bool waits = std::any_of(reporters_.begin(), reporters_.end(), [&](const std::string& reporter) {
      return is_below(key, reporter) &&
             std::none_of(seen_.begin(), seen_.end(), [&](const auto& other) { return is_below(other, reporter); });
    });
    if (!waits) log::warn(std::string(text) + with_guess(key, similar(key)));
  }
  unseen_.clear();
}

void warn_of_absence(std::string_view trigger, const std::string& key, const Observation& observation) {
  std::string names;
  for (const auto& [name, value] : observation) names += (names.empty() ? "" : ", ") + name;
  log::warn(std::string(trigger) + ": '" + key + "' was not reported; there is " + (names.empty() ? "nothing" : names));
}

}  // namespace kusari::training
