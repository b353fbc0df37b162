#include "kusari/framework/datasets/reading.h"

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

void rethrow_as_io_error(const std::string& call, const std::string& path) {
  const std::string where = call + ": " + path;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw IoError(where + " has more content than there is memory for");
  } catch (const std::length_error&) {
    throw IoError(where + " has more content than there is memory for");
  } catch (const std::filesystem::filesystem_error& error) {
    throw IoError((error.path1().empty() ? where : call + ": " + error.path1().string()) +
                  " cannot be read: " + error.code().message());
  }
}

}  // namespace kusari::datasets
