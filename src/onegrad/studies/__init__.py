"""Studies: figures of the papers and open questions, each a TOML file, its facts and a drawing."""
