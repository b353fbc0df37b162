#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// Lets `create` write a file unless it is there: under a temporary name beside `path`, under which there is no file
/// when it is called, and which becomes `path` once all of it is on the disk. False when `path` was there already.
/// Processes that do so at once may each write; what all read then is the file of one of them. Throws IoError, naming
/// the file, when it was not written or cannot get its name, and what `create` throws; then nothing stays behind, and
/// what processes have left behind that were killed here is removed by the next one that creates the file.
KUSARI_API bool create_cached_file(const std::string& path, const Callable<void(const std::string&)>& create);

/// What `load(path)` gives, or, when there is no such file yet, what `create(temporary_path)` gives, which writes the
/// file too. chainer.dataset.cache_or_load_file.
template <class Create, class Load>
auto cache_or_load_file(const std::string& path, Create&& create, Load&& load)
    -> std::invoke_result_t<Load&, const std::string&> {
  std::optional<std::invoke_result_t<Load&, const std::string&>> content;
  create_cached_file(path, [&](const std::string& temporary) { content.emplace(create(temporary)); });
  return content ? std::move(*content) : load(path);
}

}  // namespace kusari::datasets
