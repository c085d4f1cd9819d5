"""What a project that uses s2sad tests with; `s2sad.testing.plugin` is loaded by pytest itself."""
