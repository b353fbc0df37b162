#include "kusari/framework/inference/loaders.h"

#include <dlfcn.h>

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

/// The loader for a file, if there is one; `known` gets the extensions that there are.
Loader loader_for(const std::string& path, std::string& known) {
  Loader loader;
  known.clear();
  const std::scoped_lock lock(loaders->mutex);
  for (const auto& [extension, each] : loaders->by_extension) {
    if (path.ends_with(extension)) loader = each;
    known += (known.empty() ? "" : ", ") + extension;
  }
  return loader;
}

}  // namespace

void register_loader(const std::string& extension, Loader loader) {
  const std::scoped_lock lock(loaders->mutex);
  loaders->by_extension[extension] = std::move(loader);
}

InferenceSession open_session(const std::string& path, const InferenceSessionOptions& options) {
  std::string known;
  Loader loader = loader_for(path, known);
  if (!loader && path.ends_with(".onnx")) {
    // Kusari's own reader, which is found by name where the program has not linked it.
    if (::dlopen("libkusari_onnx.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      const char* const reason = ::dlerror();
      throw IoError("open_session: '" + path +
                    "' needs libkusari_onnx.so: " + (reason != nullptr ? reason : "not found"));
    }
    loader = loader_for(path, known);
  }
  if (!loader) {
    throw IoError("open_session: no loader for '" + path +
                  "' is there; load the library that reads such files (known: " + (known.empty() ? "none" : known) +
                  ")");
  }
  return loader(path, options);
}

}  // namespace kusari::inference
