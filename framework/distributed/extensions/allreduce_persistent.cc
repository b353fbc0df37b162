#include "kusari/framework/distributed/extensions/allreduce_persistent.h"

#include <cstring>
#include <map>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/byte_messages.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/normalization/batch_statistics.h"

namespace kusari::distributed {
namespace {

/// A floating persistent array of a model.
struct Statistic {
  std::string path;
  Array* array;
  size_t begin;                 // of its numbers among those of all
  const Array* mean = nullptr;  // of a variance: the array of means that it belongs to
};

std::vector<Statistic> statistics_of(Link& model) {
  std::map<const Array*, const Array*> mean_of;
  kusari::detail::LinkWalk::each(model, [&](Link& link) {
    const auto* normalization = dynamic_cast<const links::BatchStatistics*>(&link);
    if (normalization != nullptr) mean_of[&normalization->avg_var] = &normalization->avg_mean;
  });
  std::vector<Statistic> found;
  size_t size = 0;
  for (const kusari::detail::LinkWalk::Entry& entry : kusari::detail::LinkWalk::entries(model)) {
    if (entry.kind != kusari::detail::MemberKind::persistent) continue;
    auto* array = static_cast<Array*>(entry.at);
    if (!array->is_defined() || !is_floating(array->dtype())) continue;
    const auto mean = mean_of.find(array);
    found.push_back({entry.path, array, size, mean == mean_of.end() ? nullptr : mean->second});
    size += static_cast<size_t>(array->size());
  }
  return found;
}

using Numbers = std::vector<double>;

/// What all ranks hold, in the order of the ranks.
std::vector<Numbers> gathered(const Communicator& comm, const std::vector<Statistic>& statistics) {
  std::string names;
  Numbers own;
  for (const Statistic& statistic : statistics) {
    names += statistic.path + to_string(statistic.array->shape()) + ' ';
    const Numbers values = statistic.array->to_device(Device()).astype(Dtype::float64).to_vector<double>();
    own.insert(own.end(), values.begin(), values.end());
  }
  MessageWriter writer;
  writer.text(names);
  writer.text({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double)});
  std::vector<Numbers> all;
  for (const std::string& bytes : comm.allgather_obj(writer.bytes())) {
    MessageReader reader("AllreducePersistent", bytes);
    if (const std::string theirs = reader.text(); theirs != names) {
      throw StateError("AllreducePersistent: rank " + std::to_string(all.size()) + " has the persistent arrays " +
                       theirs + "but rank " + std::to_string(comm.rank()) + " has " + names);
    }
    const std::string values = reader.text();
    Numbers numbers(values.size() / sizeof(double));
    std::memcpy(numbers.data(), values.data(), values.size());
    all.push_back(std::move(numbers));
  }
  return all;
}

double mean_at(const std::vector<Numbers>& ranks, size_t i) {
  double sum = 0;
  for (const Numbers& rank : ranks) sum += rank[i];
  return sum / static_cast<double>(ranks.size());
}

double variance_at(const std::vector<Numbers>& ranks, size_t i) {
  const double mean = mean_at(ranks, i);
  double sum = 0;
  for (const Numbers& rank : ranks) sum += (rank[i] - mean) * (rank[i] - mean);
  return sum / static_cast<double>(ranks.size());
}

}  // namespace

void AllreducePersistent::operator()(training::Trainer&) { (*this)(); }

void AllreducePersistent::operator()() {
  const std::vector<Statistic> statistics = statistics_of(home_->get());
  const std::vector<Numbers> ranks = gathered(comm_, statistics);
  if (ranks.size() == 1) return;
  std::map<const Array*, size_t> begin_of;
  for (const Statistic& statistic : statistics) begin_of[statistic.array] = statistic.begin;
  for (const Statistic& statistic : statistics) {
    Numbers merged(static_cast<size_t>(statistic.array->size()));
    for (size_t i = 0; i < merged.size(); ++i) {
      merged[i] = mean_at(ranks, statistic.begin + i);
      if (statistic.mean != nullptr) merged[i] += variance_at(ranks, begin_of.at(statistic.mean) + i);
    }
    Array values = array(merged).reshape(statistic.array->shape()).astype(statistic.array->dtype());
    statistic.array->copy_from(values.to_device(statistic.array->device()));
  }
}

}  // namespace kusari::distributed
