#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/serializers/npz.h"

namespace kusari::training::extensions::snapshot_writers {

/// Decides when and where the entries of a snapshot are written. chainer.training.extensions.snapshot_writers.Writer.
class KUSARI_API Writer {
 public:
  virtual ~Writer();
  /// Writes the file `path`, whole or not at all.
  virtual void operator()(const std::string& path, serializers::NpzDictionary target) = 0;
  /// Waits for what is being written; called when the training loop ends.
  virtual void finalize();
  /// Called after each file.
  void add_cleanup_hook(std::function<void()> hook) { hooks_.push_back(std::move(hook)); }

 protected:
  Writer() = default;
  Writer(const Writer&) = default;
  Writer& operator=(const Writer&) = default;
  /// To a temporary file, which is synced and renamed; then the hooks.
  void save(const std::string& path, const serializers::NpzDictionary& target,
            const serializers::SaveNpzOptions& options);

 private:
  std::vector<std::function<void()>> hooks_;
};

/// Writes at once, in the calling thread.
class KUSARI_API SimpleWriter final : public Writer {
 public:
  explicit SimpleWriter(serializers::SaveNpzOptions options = {}) : options_{options} {}
  void operator()(const std::string& path, serializers::NpzDictionary target) override { save(path, target, options_); }

 private:
  serializers::SaveNpzOptions options_;
};

}  // namespace kusari::training::extensions::snapshot_writers
