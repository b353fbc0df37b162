#include "kusari/framework/training/extensions/gnuplot.h"

#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kusari/framework/core/atomic_file.h"

namespace kusari::training::extensions {
namespace {

/// Whether gnuplot ran the script and was content.
bool run_gnuplot(const std::string& script) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_RDWR, 0);
  }
  std::string program = "gnuplot", argument = script;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return error == 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::string gnuplot_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

bool draw_with_gnuplot(const std::string& picture, int width, int height, const std::string& commands) {
  const std::string unfinished = picture + ".tmp", script = picture + ".gnuplot";
  write_file_atomically(script, "set terminal png noenhanced size " + std::to_string(width) + "," +
                                    std::to_string(height) + "\nset output " + gnuplot_quoted(unfinished) + "\n" +
                                    commands);
  std::error_code error;
  const bool drawn = run_gnuplot(script);
  if (drawn) {
    std::filesystem::rename(unfinished, picture, error);
  } else {
    std::filesystem::remove(unfinished, error);
  }
  std::filesystem::remove(script, error);
  return drawn;
}

}  // namespace kusari::training::extensions
