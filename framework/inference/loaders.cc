#include "kusari/framework/inference/loaders.h"

#include <map>
#include <mutex>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"

namespace kusari::inference {

namespace {

struct Loaders {
  ForkSafeMutex mutex;
  std::map<std::string, Loader> by_extension;
};
constinit Lazy<Loaders> loaders;

}  // namespace

void register_loader(const std::string& extension, Loader loader) {
  const std::scoped_lock lock(loaders->mutex);
  loaders->by_extension[extension] = std::move(loader);
}

InferenceSession open_session(const std::string& path, const InferenceSessionOptions& options) {
  Loader loader;
  std::string known;
  {
    const std::scoped_lock lock(loaders->mutex);
    for (const auto& [extension, each] : loaders->by_extension) {
      if (path.ends_with(extension)) loader = each;
      known += (known.empty() ? "" : ", ") + extension;
    }
  }
  if (!loader) {
    throw IoError("open_session: no loader for '" + path +
                  "' is there; load the library that reads such files (known: " + (known.empty() ? "none" : known) +
                  ")");
  }
  return loader(path, options);
}

}  // namespace kusari::inference
