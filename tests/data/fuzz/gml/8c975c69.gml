graph [
  directed 1
  node [
    id 0
  rce 3
    target 0
    key 0
    time 5
    weight 1.0
  ]
]
