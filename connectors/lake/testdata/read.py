"""Prints the schema of a Parquet file and its rows, as Apache Arrow reads them."""
import sys

import pyarrow as pa
import pyarrow.parquet as pq

f = pq.ParquetFile(sys.argv[1])
if f.read().validate(full=True) is not None:
    sys.exit("invalid")
for field in f.schema_arrow:
    print("column", field)
for i in range(f.metadata.num_columns):
    c = f.schema.column(i)
    print("leaf", c.path, c.physical_type, c.logical_type, c.max_definition_level, c.max_repetition_level)
table = f.read()
for i in range(table.num_rows):
    for name, column in zip(table.column_names, table.columns):
        v = column[i]
        if pa.types.is_time(column.type) or pa.types.is_timestamp(column.type):
            v = v.cast(pa.int64()) if v.is_valid else v  # Python has no nanoseconds
        print("row", i, name, repr(v.as_py()))
