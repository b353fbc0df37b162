#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari {
class Observation;
}

namespace kusari::training {

class Trainer;

/// Finds names that were asked for and that are not reported, because they are misspelt, and warns of each once.
class KUSARI_API UnseenKeys {
 public:
  explicit UnseenKeys(std::vector<std::string> wanted);

  /// When the run begins.
  void begin(const Trainer& trainer);
  /// The names of a log's row, or of what an iteration reported.
  template <class Names>
  void add(const Names& names) {
    is_used_ = true;
    if (unseen_.empty()) return;
    for (const auto& [key, value] : names) see(key);
  }
  /// After one or more calls of add() that count as a row.
  void end_row() { ++rows_; }
  /// Warns of names that were not seen and that a seen one is similar to, as `text` and "'main/los' (is 'main/loss'
  /// meant?)". Of none before there were rows enough for what is reported more seldom.
  void warn_of_misspelt(std::string_view text);
  /// When no more come: warns of all other names that were not seen, unless nothing was added. Names below an extension
  /// of the trainer ("validation") are left out while nothing below it was seen: it has not run yet.
  void warn_of_missing(std::string_view text);

 private:
  void see(const std::string& key);
  std::vector<std::string> similar(const std::string& key) const;

  std::vector<std::string> unseen_;  // and not told of
  std::set<std::string> wanted_, seen_;
  std::vector<std::string> reporters_;  // names of the trainer's extensions
  size_t rows_ = 0;
  bool is_used_ = false;
};

/// The warning of a trigger ("BestValueTrigger") whose value was not reported, with the names that there are.
void warn_of_absence(std::string_view trigger, const std::string& key, const Observation& observation);

}  // namespace kusari::training
