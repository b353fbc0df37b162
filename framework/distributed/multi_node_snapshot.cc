#include "kusari/framework/distributed/multi_node_snapshot.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/serializer.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/distributed/extensions/observation_aggregator.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/state.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::distributed {
namespace {

using serializers::EntrySource;
using training::Trainer;

constexpr const char* kEntries = "ranks";

/// The states that a model carries from batch to batch: a rank's are those of its rows.
void serialize_states(Link& model, Serializer& entries) {
  for (const auto& [path, state] : states(model)) {
    const std::string name = path.substr(1);
    if (entries.is_writer() ? !state->is_defined() : !entries.contains(name)) continue;
    Array value = entries.is_writer() ? state->array() : Array();
    entries(name, value);
    if (!entries.is_writer()) *state = Variable(value.to_device(model.device()), false);
  }
}

bool has_states(Trainer& trainer) {
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) {
    for (const auto& [path, state] : states(optimizer->target())) {
      if (state->is_defined()) return true;
    }
  }
  return false;
}

/// What this rank has observed since the ranks last told each other.
void serialize_observed(Trainer& trainer, Serializer& entries) {
  trainer.stop_trigger().serialize(*entries.child("stop_trigger:"));
  for (const auto& extension : trainer.extensions()) {
    auto* const aggregator = dynamic_cast<ObservationAggregator*>(&trainer.get_extension(extension.name));
    if (aggregator != nullptr) aggregator->serialize(*entries.child("extension:" + extension.name));
  }
}

/// What a stop trigger looks at that tells other ranks of it: it does so after the snapshot.
void serialize_observation(Trainer& trainer, Serializer& entries) {
  if (!entries.contains("_names")) return;
  DictSummary values;
  values.add(trainer.observation());
  values.serialize(entries);
  if (entries.is_writer()) return;
  trainer.observation().clear();
  for (const auto& [name, value] : values.compute_mean()) trainer.observation().set(name, value);
}

/// The persistent values and the states of the models of all optimizers, and what was observed, as bytes.
std::string pack_persistents(Trainer& trainer) {
  serializers::DictionarySerializer writer;
  std::set<std::string> parameters;
  serialize_observed(trainer, writer);
  const auto is_told = [](const auto& entry) { return entry.first.starts_with("stop_trigger:/aggregator/"); };
  const serializers::Dictionary& written = writer.dictionary();
  if (std::any_of(written.begin(), written.end(), is_told)) {
    serialize_observation(trainer, *writer.child("observation:"));
  }
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) {
    optimizer->target().serialize(*writer.child(name));
    serialize_states(optimizer->target(), *writer.child("state:" + name));
    for (const auto& [path, parameter] : optimizer->target().namedparams()) parameters.insert(name + path);
  }
  serializers::Dictionary persistents;
  for (const auto& [key, entry] : writer.dictionary()) {
    if (parameters.count(key) == 0) persistents.emplace_back(key, entry);
  }
  return serializers::pack_dictionary(persistents);
}

void restore_persistents(Trainer& trainer, const std::string& bytes) {
  const auto source =
      serializers::entries_in_memory("a rank's persistent values", serializers::unpack_dictionary(bytes));
  serializers::EntryDeserializer reader("multi_node_snapshot", source, {.strict = false});
  serialize_observed(trainer, reader);
  serialize_observation(trainer, *reader.child("observation:"));
  for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) {
    optimizer->target().serialize(*reader.child(name));
    serialize_states(optimizer->target(), *reader.child("state:" + name));
  }
}

class GroupSnapshot final : public training::extensions::SnapshotRanks {
 public:
  explicit GroupSnapshot(Communicator communicator) : communicator_{std::move(communicator)} {}

  bool is_writer() const override { return communicator_.is_root(); }

  void gather(Trainer& trainer) override {
    of_ranks_ = communicator_.gather_obj(pack_persistents(trainer));
    for (const auto& [name, optimizer] : trainer.updater().get_all_optimizers()) gather_optimizer_state(*optimizer);
  }

  void serialize(Trainer& trainer, Serializer& serializer) override {
    const std::unique_ptr<Serializer> entries = serializer.child(kEntries);
    if (serializer.is_writer()) {
      // What a failed load or an error saves is without: the other ranks are not there to be asked.
      if (serializer.restores() || of_ranks_.empty()) return;
      int64_t size = communicator_.size();
      (*entries)("size", size);
      const bool have_own =
          has_states(trainer) ||
          std::any_of(of_ranks_.begin(), of_ranks_.end(), [&](const auto& bytes) { return bytes != of_ranks_[0]; });
      for (size_t rank = 0; rank < of_ranks_.size() && have_own; ++rank) {
        const std::string& bytes = of_ranks_[rank];
        Array packed = from_host(bytes.data(), {static_cast<int64_t>(bytes.size())}, Dtype::uint8);
        (*entries)(std::to_string(rank), packed);
      }
      of_ranks_.clear();
      return;
    }
    int64_t size = 0;
    if (entries->contains("size")) (*entries)("size", size);
    const std::string own = std::to_string(communicator_.rank());
    if (size != communicator_.size() || !entries->contains(own)) return;
    Array packed;
    (*entries)(own, packed);
    const std::vector<uint8_t> bytes = packed.to_vector<uint8_t>();
    restore_persistents(trainer, std::string(bytes.begin(), bytes.end()));
  }

  std::shared_ptr<const EntrySource> share(std::shared_ptr<const EntrySource> loaded) override {
    std::string message;
    if (loaded) {
      serializers::Dictionary entries;
      for (const std::string& key : loaded->keys()) entries.emplace_back(key, loaded->value(key));
      message = "+" + serializers::pack_dictionary(entries);
    }
    message = communicator_.bcast_obj(message);
    if (message.empty()) return nullptr;
    return serializers::entries_in_memory("rank 0's snapshot",
                                          serializers::unpack_dictionary(std::string_view(message).substr(1)));
  }

 private:
  Communicator communicator_;
  std::vector<std::string> of_ranks_;  // on the root, until they are written
};

}  // namespace

training::extensions::Snapshot multi_node_snapshot(const Communicator& communicator,
                                                   training::extensions::Snapshot snapshot) {
  if (communicator.size() > 1) snapshot.share_with(std::make_shared<GroupSnapshot>(communicator));
  return snapshot;
}

}  // namespace kusari::distributed
