#include "kusari/framework/training/extensions/gnuplot.h"

#include <filesystem>
#include <system_error>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/training/extensions/run_program.h"

namespace kusari::training::extensions {
std::string gnuplot_quoted(const std::string& text) {
  std::string result = "'";
  // The string ends with its line: what follows would be a command.
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c == '\n' || c == '\r' ? ' ' : c);
  return result + "'";
}

bool draw_with_gnuplot(const std::string& picture, int width, int height, const std::string& commands) {
  const std::string unfinished = picture + ".tmp", script = picture + ".gnuplot";
  write_file_atomically(script,
                        "set terminal png truecolor noenhanced size " + std::to_string(width) + "," +
                            std::to_string(height) + "\nset output " + gnuplot_quoted(unfinished) + "\n" + commands,
                        false);
  std::error_code error;
  bool drawn = run_program({"gnuplot", script});
  if (drawn) {
    std::filesystem::rename(unfinished, picture, error);
    drawn = !error;
  }
  if (!drawn) std::filesystem::remove(unfinished, error);
  std::filesystem::remove(script, error);
  return drawn;
}

}  // namespace kusari::training::extensions
