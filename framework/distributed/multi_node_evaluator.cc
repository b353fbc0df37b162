#include "kusari/framework/distributed/multi_node_evaluator.h"

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/summary.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/iterators/dataset_iterator.h"

namespace kusari::distributed {
namespace {

using training::extensions::Evaluator;
using Reports = std::vector<Evaluator::BatchReport>;

std::string pack_reports(const Reports& reports) {
  serializers::Dictionary entries;
  for (const Evaluator::BatchReport& report : reports) {
    entries.push_back({"", {.array = array<int64_t>({report.examples})}});  // begins a batch
    for (const auto& [key, value] : report.values) entries.push_back({key, {.array = array<double>({value})}});
  }
  return serializers::pack_dictionary(entries);
}

Reports unpack_reports(const std::string& message) {
  Reports reports;
  for (const auto& [key, entry] : serializers::unpack_dictionary(message)) {
    if (key.empty()) {
      reports.push_back({entry.array.item<int64_t>(), {}});
    } else {
      reports.back().values.emplace_back(key, entry.array.item<double>());
    }
  }
  return reports;
}

// Batches of the same number belong together.
DictSummary::Values means_of_shards(const std::vector<Reports>& ranks) {
  DictSummary means;
  for (size_t batch = 0;; ++batch) {
    DictSummary mean;
    bool is_any = false;
    for (const Reports& reports : ranks) {
      if (batch >= reports.size()) continue;
      is_any = true;
      for (const auto& [key, value] : reports[batch].values) {
        mean.add(key, value, static_cast<double>(reports[batch].examples));
      }
    }
    if (!is_any) return means.compute_mean();
    for (const auto& [key, value] : mean.compute_mean()) means.add(key, value);
  }
}

DictSummary::Values means_of_batches(const std::vector<Reports>& ranks) {
  DictSummary means;
  for (const Reports& reports : ranks) {
    for (const Evaluator::BatchReport& report : reports) {
      for (const auto& [key, value] : report.values) means.add(key, value);
    }
  }
  return means.compute_mean();
}

}  // namespace

void detail::make_multi_node(Evaluator& evaluator, const Communicator& communicator) {
  if (communicator.size() == 1) return;
  const auto* const iterator = dynamic_cast<const iterators::DatasetIterator*>(&evaluator.get_iterator());
  const bool is_sharded = iterator != nullptr && iterator->shard().size == communicator.size();
  evaluator.combine_with([communicator, is_sharded](const Reports& own) {
    std::vector<Reports> ranks;
    for (const std::string& message : communicator.allgather_obj(pack_reports(own))) {
      ranks.push_back(unpack_reports(message));
    }
    return is_sharded ? means_of_shards(ranks) : means_of_batches(ranks);
  });
}

}  // namespace kusari::distributed
