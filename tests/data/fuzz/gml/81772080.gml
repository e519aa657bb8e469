graph [
  diredge [
    source 3
    target 0
    key 0
    time 5
    weight 1.0
  ]
]
