#include "kusari/cuda/runtime/saved_choices.h"

#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "kusari/cuda/runtime/cache_folder.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/log.h"

namespace kusari::cuda {
namespace {

constexpr const char* kEquals = " = ";
using Choices = std::map<std::string, std::string>;

// Empty if nothing is to be saved.
std::filesystem::path choices_path() {
  const std::filesystem::path folder = cache_folder("choices");
  return folder.empty() ? folder : folder / "choices.txt";
}

Choices read_choices(const std::filesystem::path& path) {
  Choices choices;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t middle = line.find(kEquals);
    if (middle != std::string::npos) choices[line.substr(0, middle)] = line.substr(middle + 3);
  }
  return choices;
}

}  // namespace

std::string find_saved_choice(const std::string& problem) {
  const std::filesystem::path path = choices_path();
  if (path.empty()) return {};
  const Choices choices = read_choices(path);
  const auto found = choices.find(problem);
  return found == choices.end() ? std::string() : found->second;
}

void save_choice(const std::string& problem, const std::string& algorithm) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::filesystem::path path = choices_path();
  if (path.empty()) return;
  try {
    std::filesystem::create_directories(path.parent_path());
    Choices choices = read_choices(path);
    choices[problem] = algorithm;
    std::string text;
    for (const auto& [name, choice] : choices) text += name + kEquals + choice + '\n';
    write_file_atomically(path.string(), text);
  } catch (const std::exception& error) {
    log::info(std::string("choices of algorithms are not kept: ") + error.what());
  }
}

}  // namespace kusari::cuda
