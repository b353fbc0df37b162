#include "kusari/framework/training/extensions/snapshot_writers.h"

namespace kusari::training::extensions::snapshot_writers {

Writer::~Writer() = default;

void Writer::finalize() {}

void Writer::save(const std::string& path, const serializers::NpzDictionary& target,
                  const serializers::SaveNpzOptions& options) {
  serializers::save_npz_dictionary(path, target, options);
  for (const auto& hook : hooks_) hook();
}

}  // namespace kusari::training::extensions::snapshot_writers
