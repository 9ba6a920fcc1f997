"""Names of MXNet that are not here, by what they wait for. docs/differences-from-mxnet.md has the same tables."""

__all__ = ["GLUON", "WAITING", "reason"]

# Of `nd`: what is waited for -> names, with the module inside `nd` before a dot.
WAITING: dict[str, str] = {
    "detection and spatial transformers": """
        BilinearSampler Correlation Crop GridGenerator ROIPooling SpatialTransformer contrib.DeformableConvolution
        contrib.DeformablePSROIPooling contrib.ModulatedDeformableConvolution contrib.MultiBoxDetection
        contrib.MultiBoxPrior contrib.MultiBoxTarget contrib.MultiProposal contrib.PSROIPooling contrib.Proposal
        contrib.ROIAlign contrib.RROIAlign contrib.bipartite_matching contrib.box_decode contrib.box_encode
        contrib.box_iou contrib.box_nms contrib.box_non_maximum_suppression
    """,
    "images": """
        imdecode image
    """,
    "sparse arrays and graphs": """
        cast_storage contrib.SparseEmbedding contrib.dgl_adjacency contrib.dgl_csr_neighbor_non_uniform_sample
        contrib.dgl_csr_neighbor_uniform_sample contrib.dgl_graph_compact contrib.dgl_subgraph contrib.edge_id
        contrib.getnnz sparse
    """,
    "control flow": """
        contrib.cond contrib.foreach contrib.while_loop
    """,
    "compiled graphs": """
        CachedOp
    """,
    "quantization": """
        contrib.calibrate_entropy contrib.dequantize contrib.quantize contrib.quantize_asym contrib.quantize_v2
        contrib.quantized_act contrib.quantized_batch_norm contrib.quantized_concat contrib.quantized_conv
        contrib.quantized_elemwise_add contrib.quantized_elemwise_mul contrib.quantized_embedding
        contrib.quantized_flatten contrib.quantized_fully_connected contrib.quantized_pooling contrib.quantized_rnn
        contrib.requantize
    """,
    "Hawkes processes: nothing asks for them": """
        contrib.hawkesll
    """,
    "nothing: they are the inside of MXNet, not for users": """
        get_indexing_dispatch_code get_oshape_of_gather_nd_op indexing_key_expand_implicit_axes random.check_call
        contrib.backward_gradientmultiplier contrib.backward_hawkesll contrib.backward_index_copy
        contrib.backward_quadratic
    """,
}


# Of Gluon and the modules around training: what is waited for -> names, with the module before a dot.
GLUON: dict[str, str] = {
    "symbols": """
        contrib.amp.convert_model contrib.amp.convert_symbol gluon.SymbolBlock operator.NDArrayOp operator.NumpyOp
        operator.PythonOp test_utils.check_speed test_utils.check_symbolic_backward test_utils.check_symbolic_forward
        test_utils.same_symbol_structure test_utils.simple_forward
    """,
    "sparse arrays": """
        gluon.contrib.nn.SparseEmbedding test_utils.create_sparse_array test_utils.create_sparse_array_zd
        test_utils.rand_sparse_ndarray test_utils.shuffle_csr_column_indices
    """,
    "compiled blocks": """
        test_utils.check_gluon_hybridize_consistency
    """,
    "the data pipelines": """
        gluon.data test_utils.DummyIter test_utils.get_bz2_data test_utils.get_cifar10 test_utils.get_im2rec_path
        test_utils.get_mnist_iterator test_utils.get_mnist_pkl test_utils.get_mnist_ubyte test_utils.get_zip_data
    """,
    "the model zoo": """
        gluon.model_zoo test_utils.download_model
    """,
    "several machines": """
        kvstore.KVStoreServer
    """,
    "nothing: they are the inside of MXNet, not for users": """
        metric.PearsonCorrelation.update_cov metric.PearsonCorrelation.update_variance random.check_call
    """,
}


def reason(name: str) -> str | None:
    """What a name of MXNet waits for; None for one that MXNet does not have.

    >>> reason("nd.sparse"), reason("nd.contrib.box_nms"), reason("nd.Convolutoin")
    ('sparse arrays and graphs', 'detection and spatial transformers', None)
    >>> reason("gluon.SymbolBlock")
    'symbols'
    """
    table, name = (WAITING, name.removeprefix("nd.")) if name.startswith("nd.") else (GLUON, name)
    return next((why for why, names in table.items() if name in names.split()), None)
